// The keys of a connection over tcp.
import { readFileSync } from 'node:fs';

import { invalidArgument } from './error.js';

// 32 bytes in Z85 (ZeroMQ RFC 32).
const KEY = /^[0-9a-zA-Z.\-:+=^!/*?&<>()[\]{}@%$#]{40}$/;

function keyIn(text, name, path) {
  const found = [...text.matchAll(new RegExp(`^[ \\t]*${name}[ \\t]*=[ \\t]*"(.*)"`, 'gm'))].at(-1);
  if (!found || !KEY.test(found[1])) {
    throw invalidArgument('keyFile', `${path}: ${name} is missing or is not a key`);
  }
  return found[1];
}

// ZeroMQ's options for a tcp:// endpoint; no options for others. `serverKey` is the daemon's public
// key, `keyFile` the file of the client's own pair (cascadectl key new --curve). By default they
// are $CASCADE_SERVER_KEY and $CASCADE_KEY_FILE. Throws CascadeError invalid_argument.
export function curveOptions(endpoint, { serverKey, keyFile }) {
  if (!endpoint.startsWith('tcp://')) return {};
  const server = serverKey ?? process.env.CASCADE_SERVER_KEY ?? '';
  const path = keyFile ?? process.env.CASCADE_KEY_FILE ?? '';
  if (!KEY.test(server)) {
    throw invalidArgument('serverKey', "tcp needs the daemon's public key (CASCADE_SERVER_KEY)");
  }
  if (path === '') {
    throw invalidArgument('keyFile', "tcp needs a key of the client's own (CASCADE_KEY_FILE; " +
      'cascadectl key new --curve)');
  }
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw invalidArgument('keyFile', error.message);
  }
  return {
    curveServerKey: server,
    curvePublicKey: keyIn(text, 'public-key', path),
    curveSecretKey: keyIn(text, 'secret-key', path),
  };
}
