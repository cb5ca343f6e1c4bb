// Keys of tcp endpoints: from options, from the environment, and what is wrong with them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import { curveKeyPair } from 'zeromq';

import { curveOptions } from '../src/client_keys.js';
import { connect } from '../src/index.js';
import { Daemon, TIMEOUT_MS, temporaryFolder } from './support.js';

const TCP = 'tcp://127.0.0.1:1';

function pairIn(t) {
  const folder = temporaryFolder(t);
  const { publicKey, secretKey } = curveKeyPair();
  const file = join(folder, 'own');
  writeFileSync(file, `curve\n    public-key = "${publicKey}"\n    secret-key = "${secretKey}"\n`);
  return { file, folder, publicKey, secretKey };
}

test('other endpoints need no keys', () => {
  assert.deepEqual(curveOptions('ipc:///run/x.sock', {}), {});
});

test('the daemon has a key, and the client has a pair', (t) => {
  const { file, publicKey, secretKey } = pairIn(t);
  const server = curveKeyPair().publicKey;
  assert.deepEqual(curveOptions(TCP, { serverKey: server, keyFile: file }), {
    curveServerKey: server, curvePublicKey: publicKey, curveSecretKey: secretKey,
  });
});

test('what is wrong with them is named', (t) => {
  const { file, folder } = pairIn(t);
  const serverKey = curveKeyPair().publicKey;
  const refused = (options, field) => {
    assert.throws(() => curveOptions(TCP, options), { code: 'invalid_argument', field });
  };
  refused({}, 'serverKey');
  refused({ serverKey: 'short', keyFile: file }, 'serverKey');
  refused({ serverKey }, 'keyFile');
  refused({ serverKey, keyFile: join(folder, 'none') }, 'keyFile');
  const half = join(folder, 'half');
  writeFileSync(half, `public-key = "${serverKey}"\n`);
  refused({ serverKey, keyFile: half }, 'keyFile');
});

// A port that nobody has now.
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

test('a real daemon serves who has a key, and nobody else', async (t) => {
  const folder = temporaryFolder(t);
  const write = (name, { publicKey, secretKey }) => {
    const file = join(folder, name);
    const text = `public-key = "${publicKey}"\nsecret-key = "${secretKey}"\n`;
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const server = curveKeyPair(), friend = curveKeyPair();
  const tcpClients = join(folder, 'clients');
  writeFileSync(tcpClients, `alice ${friend.publicKey}\n`);
  const port = await freePort();
  await Daemon.start(t, folder, ['--tcp', `${port}`, '--tcp-key', write('server', server),
    '--tcp-clients', tcpClients]);
  const options = { endpoint: `tcp://127.0.0.1:${port}`, serverKey: server.publicKey,
    timeoutMs: TIMEOUT_MS };
  const client = await connect({ ...options, keyFile: write('friend', friend) });
  t.after(() => client.close());
  const events = client.events();
  const { id } = await client.putChunk('CONTEXT', 'Rome is in Italy.');
  assert.equal((await events.next()).value.id, id);
  const { text } = await client.generate({ prompt: 'The capital of France', maxTokens: 4 });
  assert.notEqual(text, '');
  await assert.rejects(connect({ ...options, keyFile: write('stranger', curveKeyPair()) }),
    { code: 'unavailable', message: /does not know this client's key/ });
});
