// What the tests share: the protocol's vectors, a temporary folder, a real daemon, a false one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Router } from 'zeromq';

import { decode, encode } from '../src/frames.js';
import { connect } from '../src/index.js';

export const repository = fileURLToPath(new URL('../../../', import.meta.url));
const vectorsDir = join(repository, 'tests/vectors');

// [name, frames] of each message that a client sends or gets.
export function readVectors() {
  return readdirSync(vectorsDir).filter((file) => file.endsWith('.bin')).map((file) => {
    const bytes = readFileSync(join(vectorsDir, file));
    const frames = [];
    for (let at = 0; at < bytes.length;) {
      const size = bytes.readUInt32LE(at);
      frames.push(bytes.subarray(at + 4, at + 4 + size));
      at += 4 + size;
    }
    return [file.replace('.bin', ''), frames];
  });
}

// A folder that is gone when the test `t` has ended. Short: a socket's path has 107 bytes.
export function temporaryFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), 'cascade.'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function program(name) {
  const folder = process.env.CASCADE_BIN_DIR;
  if (!folder) throw new Error('CASCADE_BIN_DIR must name the folder of the built programs');
  return join(folder, name);
}

// A daemon with a model (the demo) and folders of its own, killed at the end of the test `t`.
export class Daemon {
  #child;
  #log = '';

  static async start(t, folder = temporaryFolder(t), more = [],
    model = join(repository, 'models/demo')) {
    const daemon = new Daemon(folder, more, model);
    t.after(() => daemon.stop('SIGKILL'));
    await daemon.#serving();
    return daemon;
  }

  constructor(folder, more, model) {
    this.folder = folder;
    this.runDir = join(folder, 'run');
    this.stateDir = join(folder, 'state');
    this.#child = spawn(program('cascaded'), [
      '--model', model, '--run-dir', this.runDir,
      '--state-dir', this.stateDir, '--kv-memory', '256M',
      ...(more.includes('--threads') ? [] : ['--threads', '1']), ...more,
    ], { stdio: ['ignore', 'ignore', 'pipe'] });
  }

  async stop(signal = 'SIGTERM') {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exited;
  }

  async #serving() {
    await new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', () => reject(new Error(`cascaded did not start:\n${this.#log}`)));
      this.#child.stderr.on('data', (text) => {
        this.#log += text;
        if (this.#log.includes('serving at')) resolve();
      });
    });
  }
}

// As patient as a build with sanitizers needs it.
export const TIMEOUT_MS = 60_000;

// All sizes and rounds, as ./check --long asks for them. Without it: fewer.
export const LONG = process.env.CASCADE_LONG_TESTS === '1';

// A daemon and a client of it for all tests of a file. end() ends both.
export async function daemonForAll() {
  const cleanups = [];
  const daemon = await Daemon.start({ after: (cleanup) => cleanups.push(cleanup) });
  let client;
  const end = async () => {
    await client?.close();
    for (const cleanup of cleanups.reverse()) await cleanup();
  };
  try {
    client = await connect({ runDir: daemon.runDir, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    await end();
    throw error;
  }
  return { daemon, client, end };
}

// Binds where a daemon would and answers as the test says: answer({ name, message, id, reply,
// replyFrames }) for each request but Ping, which gets a Pong with `bootId`.
export class FalseDaemon {
  bootId = 'boot_1';
  requests = [];
  #router = new Router({ linger: 0, sendHighWaterMark: 0 }); // a full queue would drop
  #sending = Promise.resolve();

  static async start(t, answer, folder = temporaryFolder(t), name = 'false.sock') {
    const daemon = new FalseDaemon(folder, answer, name);
    t.after(() => daemon.stop());
    await daemon.#router.bind(daemon.endpoint);
    daemon.#serve();
    return daemon;
  }

  constructor(folder, answer, name) {
    this.folder = folder;
    this.endpoint = `ipc://${folder}/${name}`;
    this.answer = answer;
  }

  stop() {
    if (!this.#router.closed) this.#router.close();
  }

  // Answers that were given are delivered after stop(), too.
  linger() {
    this.#router.linger = 10_000;
  }

  // The next request of this name, which may have come already.
  async request(name) {
    for (;;) {
      const found = this.requests.findIndex((request) => request.name === name);
      if (found >= 0) return this.requests.splice(found, 1)[0];
      await new Promise((resolve) => {
        this.onRequest = resolve;
      });
    }
  }

  async #serve() {
    for await (const [peer, ...frames] of this.#router) {
      const replyFrames = (answer) => this.#send([peer, ...answer]);
      const reply = (type, fields, id = frames[1]) => replyFrames(encode(type, fields, id));
      const { name, message } = decode(frames);
      const request = { name, message, id: frames[1], reply, replyFrames };
      this.requests.push(request);
      this.onRequest?.();
      if (name === 'Ping' && this.bootId) reply('Pong', { bootId: this.bootId, version: '9.9.9' });
      else this.answer?.(request);
    }
  }

  // One after the other, as a socket wants it.
  #send(frames) {
    this.#sending = this.#sending.then(() => !this.#router.closed && this.#router.send(frames));
    return this.#sending;
  }
}

// A generator of numbers (xorshift) from a seed that is printed: CASCADE_TEST_SEED repeats it.
export function random(t) {
  let state = Number(process.env.CASCADE_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31)) | 1;
  t.diagnostic(`CASCADE_TEST_SEED=${state}`);
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}
