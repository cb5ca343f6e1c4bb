// The daemon's default endpoint, and a quick check whether anybody listens at an endpoint.
import { existsSync } from 'node:fs';
import { createConnection } from 'node:net';

import { invalidArgument, unreachable } from './error.js';
import { SYSTEM_RUN_DIR, clientRunDirs, ownerOf } from './run_places.js';

const IPC = 'ipc://';
const TCP = 'tcp://';
const SOCKET_NAME = 'cascaded.sock';
// The longest path in the operating system's address of a socket.
const PATH_BYTES_MAX = 107;

const REASONS = {
  ENOENT: 'there is no such socket',
  ECONNREFUSED: 'nobody listens on that socket',
  EACCES: 'permission denied: this user may not open that socket (is it in its group?)',
  EPERM: 'permission denied: this user may not open that socket (is it in its group?)',
};

export function endpointOfRunDir(runDir) {
  return `${IPC}${runDir}/${SOCKET_NAME}`;
}

// The sockets at which a client that was given no endpoint looks, in this order.
function defaultEndpoints() {
  return clientRunDirs(process.geteuid(), process.env, ownerOf).map(endpointOfRunDir);
}

// The first of these: $CASCADE_ENDPOINT; the first of the default sockets that exists; the
// system's.
export function defaultEndpoint() {
  const { CASCADE_ENDPOINT: given } = process.env;
  if (given) return given;
  const there = defaultEndpoints().find((endpoint) => existsSync(pathOf(endpoint)));
  return there ?? endpointOfRunDir(SYSTEM_RUN_DIR);
}

// Like defaultEndpoint(), but prefers the first socket at which somebody listens to the first that
// exists: a daemon that was killed leaves its socket behind.
export async function findEndpoint() {
  if (process.env.CASCADE_ENDPOINT) return process.env.CASCADE_ENDPOINT;
  for (const endpoint of defaultEndpoints()) {
    try {
      await probeEndpoint(endpoint);
      return endpoint;
    } catch {
      // Try the next one.
    }
  }
  return defaultEndpoint();
}

function pathOf(endpoint) {
  const path = endpoint.slice(IPC.length);
  if (path === '' || path.startsWith('@') || path.includes('\0')) {
    throw invalidArgument('endpoint', `must name the path of a socket, got ${endpoint}`);
  }
  const bytes = Buffer.byteLength(path);
  if (bytes > PATH_BYTES_MAX) {
    throw invalidArgument('endpoint', `the path of a socket has at most ${PATH_BYTES_MAX} bytes, ` +
      `got ${bytes}`);
  }
  return path;
}

// ZeroMQ itself would try again and again without an error. Throws CascadeError: invalid_argument
// if `endpoint` is neither ipc://PATH nor tcp://HOST:PORT; unavailable, with the reason, if the
// socket of an ipc endpoint does not exist or may not be opened, or if nobody listens on it.
export async function probeEndpoint(endpoint) {
  if (typeof endpoint === 'string' && endpoint.startsWith(TCP) && endpoint.length > TCP.length) {
    return;
  }
  if (typeof endpoint !== 'string' || !endpoint.startsWith(IPC)) {
    throw invalidArgument('endpoint', `must be ipc://PATH or tcp://HOST:PORT, got ${endpoint}`);
  }
  const path = pathOf(endpoint);
  await new Promise((resolve, reject) => {
    const socket = createConnection({ path }, () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', ({ code, message }) => {
      // EAGAIN means that the listener's queue is full, so somebody is there.
      if (code === 'EAGAIN') resolve();
      else reject(unreachable(`${REASONS[code] ?? message}: ${path}`));
    });
  });
}
