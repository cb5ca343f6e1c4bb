// Connecting, losing the connection, deadlines, and who gets which answer: with a false daemon.
import assert from 'node:assert/strict';
import { chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import { CascadeError, connect, defaultEndpoint } from '../src/index.js';
import { encode } from '../src/frames.js';
import { clientRunDirs } from '../src/run_places.js';
import { FalseDaemon, readVectors, repository, temporaryFolder } from './support.js';

const MISS = { reason: 'none', position: 0, knownToken: -1 };
const PREFIX = { id: 'prefix_1', tokens: 1, references: 1, reusedTokens: 0, prefilledTokens: 1,
  miss: MISS };
const FINAL = {
  text: 'Paris.', reasoning: '', finishReason: 'stop', seed: 1, outputChunkId: '',
  usage: { promptTokens: 1, reusedTokens: 0, prefilledTokens: 1, completionTokens: 1,
    reasoningTokens: 0, miss: MISS },
  timings: { queueUs: 0, prefillUs: 0, firstTokenUs: 0, decodeUs: 0, totalUs: 0 },
};

async function connected(t, daemon, options = {}) {
  const client = await connect({ endpoint: daemon.endpoint, ...options });
  t.after(() => client.close());
  return client;
}

function unavailable(message) {
  return { name: 'CascadeError', code: 'unavailable', field: 'endpoint', retryable: true, message };
}

test('an endpoint where nobody is says why at once', async (t) => {
  const folder = temporaryFolder(t);
  await assert.rejects(connect({ runDir: folder }), unavailable(/^there is no such socket: /));
  const path = join(folder, 'cascaded.sock');
  writeFileSync(path, '');
  await assert.rejects(connect(`ipc://${path}`), unavailable(/^nobody listens on that socket: /));
});

test('an endpoint or option that is none is refused by name', async () => {
  const long = `ipc:///${'x'.repeat(107)}`;
  const bad = [
    ['udp://127.0.0.1:1', 'endpoint', /^must be ipc:\/\/PATH or tcp:\/\/HOST:PORT, got udp:/],
    ['', 'endpoint', /^must be ipc:/],
    ['ipc://', 'endpoint', /^must name the path of a socket/],
    ['ipc://@abstract', 'endpoint', /^must name the path of a socket/],
    [long, 'endpoint', /has at most 107 bytes, got 108$/],
    [{ endpoint: 5 }, 'endpoint', /^must be ipc:/],
    [{ endpoint: 'ipc:///x', runDir: '/x' }, 'endpoint',
      /^give either endpoint or runDir, not both$/],
    [{ runDir: '' }, 'runDir', /^must be the path of a folder$/],
    [{ timeoutMs: 0 }, 'timeoutMs', /^must be a whole number of milliseconds/],
    [{ timeoutMs: '5' }, 'timeoutMs', /^must be a whole number of milliseconds/],
    [{ timeout: 5 }, 'timeout', /^is not an option of connect\(\)$/],
  ];
  for (const [options, field, message] of bad) {
    await assert.rejects(connect(options), { code: 'invalid_argument', field, message });
  }
});

test('the default endpoint is as that of the other clients', (t) => {
  const folder = temporaryFolder(t);
  const kept = { ...process.env };
  t.after(() => {
    process.env = kept;
  });
  delete process.env.CASCADE_ENDPOINT;
  process.env.XDG_RUNTIME_DIR = folder;
  assert.equal(defaultEndpoint(), 'ipc:///run/cascaded/cascaded.sock');
  mkdirSync(join(folder, 'cascaded'));
  writeFileSync(join(folder, 'cascaded/cascaded.sock'), '');
  assert.equal(defaultEndpoint(), `ipc://${folder}/cascaded/cascaded.sock`);
  process.env.CASCADE_ENDPOINT = 'ipc:///elsewhere';
  assert.equal(defaultEndpoint(), 'ipc:///elsewhere');
});

test('daemons are looked for where all clients look', () => {
  const cases = JSON.parse(readFileSync(join(repository, 'tests/run_places.json'), 'utf8'));
  assert.ok(cases.length > 10);
  for (const { case: name, user, environment, owners, client } of cases) {
    assert.deepEqual(clientRunDirs(user, environment, (path) => owners[path]), client, name);
  }
});

test('a daemon that listens comes before a socket that was left', async (t) => {
  const folder = temporaryFolder(t);
  const kept = { ...process.env };
  t.after(() => {
    process.env = kept;
  });
  delete process.env.CASCADE_ENDPOINT;
  process.env.RUNTIME_DIRECTORY = join(folder, 'left');
  process.env.XDG_RUNTIME_DIR = folder;
  mkdirSync(process.env.RUNTIME_DIRECTORY);
  writeFileSync(join(folder, 'left/cascaded.sock'), '');
  mkdirSync(join(folder, 'cascaded'));
  const daemon = await FalseDaemon.start(t, undefined, join(folder, 'cascaded'), 'cascaded.sock');
  const client = await connect();
  t.after(() => client.close());
  assert.equal(client.endpoint, daemon.endpoint);
});

test('a daemon that loads its model is waited for within the timeout', async (t) => {
  const loading = (done) => ({
    error: { code: 'unavailable', field: 'loading', message: 'the daemon is loading' },
    retryAfterMs: 1,
    loading: { doneBytes: done, totalBytes: 10 },
  });
  let asked = 0;
  const daemon = await FalseDaemon.start(t, ({ name, reply }) => {
    if (name !== 'Ping') return reply('Ack', {});
    asked += 1;
    if (asked < 4) return reply('ErrorReply', loading(asked));
    daemon.bootId = 'boot_1';
    return reply('Pong', { bootId: 'boot_1', version: '9.9.9' });
  });
  daemon.bootId = '';
  const client = await connected(t, daemon);
  assert.equal(asked, 4);
  assert.equal(client.bootId, 'boot_1');
  // Not for ever; then the error says how far it is.
  const slow = await FalseDaemon.start(t, ({ reply }) => reply('ErrorReply', loading(4)));
  slow.bootId = '';
  await assert.rejects(connect({ endpoint: slow.endpoint, timeoutMs: 50 }), {
    name: 'CascadeError', code: 'unavailable', field: 'loading', retryable: true,
    loading: { doneBytes: 4, totalBytes: 10 },
  });
});

test('a folder in /tmp is looked at only if it is the user\'s',
  { skip: process.geteuid() === 0 ? false : 'gives a folder to another user' }, (t) => {
    const kept = { ...process.env };
    const { geteuid } = process;
    const user = 30_010 + (process.pid % 5_000);
    const folder = `/tmp/cascaded-${user}`;
    t.after(() => {
      process.env = kept;
      process.geteuid = geteuid;
      rmSync(folder, { recursive: true });
    });
    delete process.env.CASCADE_ENDPOINT;
    delete process.env.XDG_RUNTIME_DIR;
    process.geteuid = () => user;
    mkdirSync(folder);
    writeFileSync(join(folder, 'cascaded.sock'), '');
    assert.equal(defaultEndpoint(), 'ipc:///run/cascaded/cascaded.sock');
    chownSync(folder, user, user);
    assert.equal(defaultEndpoint(), `ipc://${folder}/cascaded.sock`);
  });

test('what listens but does not answer is no daemon', async (t) => {
  const path = join(temporaryFolder(t), 'mute.sock');
  const server = createServer(() => {}).listen(path);
  t.after(() => server.close());
  await assert.rejects(connect({ endpoint: `ipc://${path}`, timeoutMs: 50 }), unavailable(/./));
});

test('connecting can be aborted', async (t) => {
  const daemon = await FalseDaemon.start(t);
  daemon.bootId = '';
  const reason = new Error('no more');
  const controller = new AbortController();
  const connecting = connect({ endpoint: daemon.endpoint, signal: controller.signal });
  await daemon.request('Ping');
  controller.abort(reason);
  await assert.rejects(connecting, reason);
  await assert.rejects(connect({ endpoint: daemon.endpoint, signal: AbortSignal.abort(reason) }),
    reason);
});

test('answers find their requests in any order', async (t) => {
  const waiting = [];
  const daemon = await FalseDaemon.start(t, (request) => {
    waiting.push(request);
    if (waiting.length < 100) return;
    for (const { message, reply } of waiting.reverse()) {
      reply('ErrorReply', { error: { code: 'not_found', field: 'id', message: message.id },
        retryAfterMs: 0 });
    }
  });
  const client = await connected(t, daemon);
  const ids = Array.from({ length: 100 }, (_, i) => `chunk_${i}`);
  const settled = await Promise.allSettled(ids.map((id) => client.getChunk(id)));
  assert.deepEqual(settled.map(({ reason }) => reason.message), ids);
  assert.ok(settled.every(({ reason }) => reason instanceof CascadeError && !reason.retryable));
});

test('an error has what the daemon said, and where it was asked', async (t) => {
  const daemon = await FalseDaemon.start(t, ({ reply }) => reply('ErrorReply', {
    error: { code: 'resource_exhausted', field: 'queue', message: 'is full' }, retryAfterMs: 250,
  }));
  const client = await connected(t, daemon);
  const error = await client.generate({ prompt: 'x' }).catch((thrown) => thrown);
  assert.equal(error.code, 'resource_exhausted');
  assert.equal(error.retryAfterMs, 250);
  assert.equal(error.retryable, true);
  assert.equal(String(error), 'CascadeError: resource_exhausted, queue: is full');
  assert.match(error.stack, /connection\.test\.js/);
});

test('a connection that breaks fails what is in flight; the next call connects', async (t) => {
  const daemon = await FalseDaemon.start(t);
  const client = await connected(t, daemon);
  const stream = client.stream({ prompt: 'x' });
  const status = client.status();
  await daemon.request('StatusRequest');
  daemon.stop();
  await assert.rejects(status, unavailable('the connection to the daemon broke'));
  await assert.rejects(stream.next(), unavailable('the connection to the daemon broke'));
  assert.deepEqual(await stream.next(), { value: undefined, done: true });
  await assert.rejects(client.ping(), unavailable(/socket/));
  const next = await FalseDaemon.start(t, ({ reply }) =>
    reply('SessionListReply', { sessions: [] }), daemon.folder);
  next.bootId = 'boot_2';
  assert.deepEqual(await client.listSessions(), []);
  assert.equal(client.bootId, 'boot_2');
});

test('what the daemon said before the connection broke is heard', async (t) => {
  // libzmq 4.3 loses what a peer that is gone sent beyond the 1,000 messages of its queue.
  const count = 900;
  const daemon = await FalseDaemon.start(t, ({ reply, name }) => {
    if (name !== 'GenerateRequest') return;
    for (let i = 0; i < count; ++i) reply('Delta', { text: 'x', reasoning: false });
    reply('Final', FINAL).then(() => daemon.stop(), () => {});
  });
  daemon.linger();
  const client = await connected(t, daemon);
  let deltas = 0;
  const request = { prompt: 'x', deltaCredit: count };
  const final = await client.generate(request, { onEvent: () => void ++deltas });
  assert.equal(final.text, 'Paris.');
  assert.equal(deltas, count);
});

test('room is made for more text as it is read', async (t) => {
  const grants = [];
  let running;
  const say = (count) => {
    for (let i = 0; i < count; ++i) running.reply('Delta', { text: 'x', reasoning: false });
  };
  const daemon = await FalseDaemon.start(t, (request) => {
    if (request.name === 'GenerateRequest') {
      running = request;
      return say(request.message.deltaCredit);
    }
    grants.push(request.message);
    say(request.message.deltas);
    if (grants.length === 2) running.reply('Final', FINAL);
  });
  const client = await connected(t, daemon);
  let deltas = 0;
  for await (const { type } of client.stream({ prompt: 'x' })) if (type === 'delta') ++deltas;
  assert.equal(deltas, 64 + 2 * 32);
  assert.deepEqual(grants.slice(0, 2).map(({ target }) => Buffer.from(target)),
    [running.id, running.id].map((id) => Buffer.from(id)));
});

test('a daemon that was restarted has lost what is in flight', async (t) => {
  const daemon = await FalseDaemon.start(t);
  const client = await connected(t, daemon);
  const status = client.status();
  await daemon.request('StatusRequest');
  daemon.bootId = 'boot_2';
  const ping = client.ping();
  const restarted = unavailable('the daemon was restarted; the request is lost');
  await assert.rejects(status, restarted);
  await assert.rejects(ping, restarted);
  await client.ping();
  assert.equal(client.bootId, 'boot_2');
});

test('a call that is not answered in time fails alone', async (t) => {
  const daemon = await FalseDaemon.start(t, ({ name, reply }) => {
    if (name === 'SessionListRequest') reply('SessionListReply', { sessions: [] });
  });
  const client = await connected(t, daemon, { timeoutMs: 500 });
  const fsck = client.fsck();
  await assert.rejects(client.status(), unavailable('the daemon did not answer within 500 ms'));
  assert.deepEqual(await client.listSessions(), []);
  const { reply } = await daemon.request('FsckRequest');
  reply('FsckReply', { findings: [], found: 0, left: 0, pages: 3, bytes: 4 });
  assert.equal((await fsck).pages, 3);
});

test('a daemon that falls silent is asked, and then given up', async (t) => {
  const daemon = await FalseDaemon.start(t);
  const client = await connected(t, daemon, { timeoutMs: 500, silenceMs: 50 });
  await daemon.request('Ping');
  const generation = client.generate({ prompt: 'x' });
  await daemon.request('GenerateRequest');
  await daemon.request('Ping');
  daemon.bootId = '';
  await assert.rejects(generation, unavailable('the daemon fell silent'));
});

test('a generation of which nothing is heard is lost although the daemon answers', async (t) => {
  const daemon = await FalseDaemon.start(t, ({ name, reply }) => {
    if (name === 'GenerateRequest') reply('Accepted', { queuePosition: 0 });
  });
  const client = await connected(t, daemon, { silenceMs: 20, lostMs: 500 });
  const stream = client.stream({ prompt: 'x' });
  const accepted = { type: 'accepted', queuePosition: 0, outputId: '', fingerprint: '' };
  assert.deepEqual((await stream.next()).value, accepted);
  await assert.rejects(stream.next(), unavailable(/^nothing was heard of the request for 500 ms/));
  await client.ping();
});

test('time in which this process did not listen is nobody\'s fault', async (t) => {
  const daemon = await FalseDaemon.start(t, ({ reply }) =>
    reply('SessionListReply', { sessions: [] }));
  const client = await connected(t, daemon, { timeoutMs: 300, silenceMs: 200 });
  const sessions = client.listSessions();
  await daemon.request('SessionListRequest');
  // Blocks the event loop for three times what an answer may take.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
  assert.deepEqual(await sessions, []);
});

test('a reply that cannot be read, or is another, is an error of its request only', async (t) => {
  const daemon = await FalseDaemon.start(t, ({ name, id, reply, replyFrames }) => {
    const [header, ...rest] = encode('Ack', {}, id);
    if (name === 'StatusRequest') {
      header[5] = 200; // a type that is not known
      replyFrames([header, ...rest]);
    }
    if (name === 'SessionListRequest') reply('Ack', {});
    if (name === 'PolicyGet') replyFrames([encode('PolicyReply', { policies: [], durable: true },
      id)[0], ...rest]);
  });
  const client = await connected(t, daemon);
  const generation = client.generate({ prompt: 'x' });
  const { reply } = await daemon.request('GenerateRequest');
  await assert.rejects(client.status(), { code: 'unsupported', field: 'reply',
    message: /type: message type 200 is unknown$/ });
  await assert.rejects(client.listSessions(), { code: 'internal', field: 'reply',
    message: 'the daemon answered with Ack' });
  await assert.rejects(client.expiryPolicies(), { code: 'internal', field: 'reply',
    message: /policies: is missing$/ });
  reply('Final', FINAL);
  assert.equal((await generation).text, 'Paris.');
});

test('a daemon of another protocol version is given up', async (t) => {
  const daemon = await FalseDaemon.start(t, ({ id, replyFrames }) => {
    const frames = encode('Ack', {}, id);
    frames[0][4] = 2;
    replyFrames(frames);
  });
  const client = await connected(t, daemon);
  await assert.rejects(client.status(), unavailable(/protocol version 2 is not supported/));
});

test('an aborted generation is cancelled, and its end is nobody\'s', async (t) => {
  const daemon = await FalseDaemon.start(t, ({ name, reply }) => {
    if (name === 'CancelRequest') reply('Ack', {});
  });
  const client = await connected(t, daemon);
  const controller = new AbortController();
  const generation = client.generate({ prompt: 'x' }, { signal: controller.signal });
  const { id, reply } = await daemon.request('GenerateRequest');
  controller.abort();
  await assert.rejects(generation, { name: 'AbortError' });
  const cancel = await daemon.request('CancelRequest');
  assert.deepEqual(Buffer.from(cancel.message.target), id);
  reply('Final', { ...FINAL, finishReason: 'cancelled' });
  await client.ping();
});

test('what an event handler throws cancels the generation and is its error', async (t) => {
  const daemon = await FalseDaemon.start(t, ({ name, reply, message }) => {
    if (name === 'GenerateRequest') reply('Delta', { text: 'x', reasoning: false });
    if (name !== 'CancelRequest') return;
    reply('Delta', { text: 'y', reasoning: false }, message.target);
    reply('Ack', {});
    reply('Final', { ...FINAL, finishReason: 'cancelled' }, message.target);
  });
  const client = await connected(t, daemon);
  const bug = new Error('a bug of mine');
  await assert.rejects(client.generate({ prompt: 'x' }, { onEvent: () => { throw bug; } }), bug);
  const told = [];
  const onEvent = ({ text }) => told.push(text) > 5;
  const cancelled = await client.generate({ prompt: 'x' }, { onEvent });
  assert.equal(cancelled.finishReason, 'cancelled');
  assert.deepEqual(told, ['x']);
});

test('a prefix that was aborted too late is released', async (t) => {
  const daemon = await FalseDaemon.start(t);
  const client = await connected(t, daemon);
  const controller = new AbortController();
  const prefix = client.cachePrefix({ prompt: 'x' }, { signal: controller.signal });
  const { reply } = await daemon.request('PrefixCache');
  controller.abort();
  await assert.rejects(prefix, { name: 'AbortError' });
  reply('PrefixReply', PREFIX);
  assert.deepEqual((await daemon.request('PrefixRelease')).message, { id: 'prefix_1' });
});

test('an aborted call fails at once; its late answer does no harm', async (t) => {
  const daemon = await FalseDaemon.start(t);
  const client = await connected(t, daemon);
  const controller = new AbortController();
  const sessions = client.listSessions(10, { signal: controller.signal });
  const { reply } = await daemon.request('SessionListRequest');
  controller.abort(new Error('enough'));
  await assert.rejects(sessions, { message: 'enough' });
  reply('SessionListReply', { sessions: [] });
  await client.ping();
});

test('changes that are not durable yet are remembered', async (t) => {
  const [, frames] = readVectors().find(([name]) => name === 'session_reply');
  const daemon = await FalseDaemon.start(t, ({ id, reply, name, replyFrames }) => {
    if (name === 'SessionGet') replyFrames([frames[0], id, ...frames.slice(2)]);
    if (name === 'PolicySet') reply('PolicyReply', { policies: [], durable: false });
  });
  const client = await connected(t, daemon);
  await client.getSession('trip');
  assert.equal(client.allDurable, true);
  await client.setExpiryPolicy('OUTPUT', 1);
  assert.equal(client.allDurable, false);
});

test('a closed client fails what is in flight and takes no more', async (t) => {
  const daemon = await FalseDaemon.start(t);
  const client = await connected(t, daemon);
  const status = client.status();
  const stream = client.stream({ prompt: 'x' });
  await daemon.request('GenerateRequest');
  await client.close();
  const closed = { code: 'cancelled', field: 'client', message: 'the client was closed' };
  await assert.rejects(status, closed);
  await assert.rejects(stream.next(), closed);
  await assert.rejects(client.status(), { code: 'invalid_argument', field: 'client' });
  await client.close();
});

test('a client that is closed while it connects does so', async (t) => {
  const daemon = await FalseDaemon.start(t);
  const client = await connected(t, daemon);
  daemon.stop();
  await assert.rejects(client.ping(), unavailable(/./));
  const next = await FalseDaemon.start(t, undefined, daemon.folder);
  next.bootId = '';
  const ping = client.ping();
  await next.request('Ping');
  await client.close();
  await assert.rejects(ping, { code: 'cancelled', field: 'client' });
});
