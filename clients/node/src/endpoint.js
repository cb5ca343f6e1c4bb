// Where the daemon listens: the default, and a quick look at whether anybody is there.
import { existsSync, lstatSync } from 'node:fs';
import { createConnection } from 'node:net';

import { invalidArgument, unreachable } from './error.js';

const IPC = 'ipc://';
const TCP = 'tcp://';
const SOCKET_NAME = 'cascaded.sock';
const SYSTEM_RUN_DIR = '/run/cascaded';
// Of the operating system's address of a socket.
const PATH_BYTES_MAX = 107;

const REASONS = {
  ENOENT: 'there is no such socket',
  ECONNREFUSED: 'nobody listens on that socket',
  EACCES: 'this user may not open that socket',
  EPERM: 'this user may not open that socket',
};

export function endpointOfRunDir(runDir) {
  return `${IPC}${runDir}/${SOCKET_NAME}`;
}

// Whether it is a folder that belongs to this user: names in /tmp are everybody's.
function isOwn(folder) {
  const info = lstatSync(folder, { throwIfNoEntry: false });
  return info?.isDirectory() === true && info.uid === process.geteuid();
}

// $CASCADE_ENDPOINT; else that of $XDG_RUNTIME_DIR/cascaded if a socket is there; else that of
// /tmp/cascaded-UID if one is there and the folder is this user's; else that of /run/cascaded.
export function defaultEndpoint() {
  const { CASCADE_ENDPOINT: given, XDG_RUNTIME_DIR: runtime } = process.env;
  if (given) return given;
  if (runtime?.startsWith('/') && existsSync(`${runtime}/cascaded/${SOCKET_NAME}`)) {
    return endpointOfRunDir(`${runtime}/cascaded`);
  }
  const temporary = `/tmp/cascaded-${process.geteuid()}`;
  if (isOwn(temporary) && existsSync(`${temporary}/${SOCKET_NAME}`)) {
    return endpointOfRunDir(temporary);
  }
  return endpointOfRunDir(SYSTEM_RUN_DIR);
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

// ZeroMQ itself would try again and again in silence. Throws CascadeError: invalid_argument if
// `endpoint` is not ipc://PATH or tcp://HOST:PORT; unavailable, with the reason, if the socket of
// an ipc endpoint is not there, not permitted, or nobody listens on it.
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
      // EAGAIN: the listener's queue is full; somebody is there.
      if (code === 'EAGAIN') resolve();
      else reject(unreachable(`${REASONS[code] ?? message}: ${path}`));
    });
  });
}
