// Bytes that nobody meant: readers refuse them with an error of this client, or read what a
// MessagePack library reads, and a client goes on.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decode as decodeMessagePack, encode as encodeMessagePack } from '@msgpack/msgpack';

import { Float, readBody } from '../src/body.js';
import { CascadeError, connect } from '../src/index.js';
import { decode, encode } from '../src/frames.js';
import { FalseDaemon, random, readVectors } from './support.js';

const MUTATIONS = 20_000;
const DOCUMENTS = 1_000;
const CUTS = 10; // of each document
const ANSWERS = 150;

function mutated(frames, below) {
  const copies = frames.map((frame) => Buffer.from(frame));
  for (let changes = 1 + below(3); changes > 0; --changes) {
    const at = below(copies.length);
    const frame = copies[at];
    switch (below(6)) {
      case 0: copies[at] = frame.subarray(0, below(frame.length + 1)); break;
      case 1: copies[at] = Buffer.concat([frame, frame.subarray(below(frame.length + 1))]); break;
      case 2: copies.splice(at, 1); break;
      case 3: copies.push(Buffer.alloc(below(9))); break;
      default: if (frame.length > 0) frame[below(frame.length)] = below(256);
    }
    if (copies.length === 0) copies.push(Buffer.alloc(8));
  }
  return copies;
}

// What `action` returns; undefined if it throws an error of this client. Anything else is a bug.
function attempt(action) {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof CascadeError)) throw error;
    assert.match(error.field, /./);
    return undefined;
  }
}

test('a damaged message is refused, or read as a message that can be written again', (t) => {
  const below = random(t);
  const vectors = readVectors();
  let read = 0;
  for (let i = 0; i < MUTATIONS; ++i) {
    const [, frames] = vectors[below(vectors.length)];
    const result = attempt(() => decode(mutated(frames, below)));
    if (result === undefined) continue;
    ++read;
    const again = encode(result.name, result.message, Buffer.alloc(16));
    assert.deepEqual(decode(again.map((frame) => Buffer.from(frame))), result);
  }
  t.diagnostic(`${read} of ${MUTATIONS} were still messages`);
  assert.ok(read > 0 && read < MUTATIONS);
});

function randomValue(below, depth) {
  const text = () => Array.from({ length: below(40) }, () =>
    String.fromCodePoint([0x41, 0xe9, 0x4e16, 0x1f600][below(4)] + below(20))).join('');
  const kind = below(depth > 0 ? 9 : 7);
  if (kind === 0) return null;
  if (kind === 1) return below(2) === 1;
  if (kind === 2) return below(2 ** 32);
  if (kind === 3) return -below(2 ** 31) - 1;
  if (kind === 4) return BigInt(below(2 ** 32)) * 2n ** 31n * (below(2) === 1 ? 1n : -1n);
  if (kind === 5) return below(1000) + 0.5;
  if (kind === 6) return text();
  if (kind === 7) return Array.from({ length: below(6) }, () => randomValue(below, depth - 1));
  return Object.fromEntries(Array.from({ length: below(6) }, (_, i) =>
    [`${i}${text()}`, randomValue(below, depth - 1)]));
}

// As the library reads it: objects for maps, numbers for floats, bigints for 64 bits.
function plain(value) {
  if (value instanceof Float) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, element]) => [key, plain(element)]));
}

function withoutBigints(value) {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(withoutBigints);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withoutBigints(v)]));
}

test('a body is read as the MessagePack library reads it', (t) => {
  const below = random(t);
  for (let i = 0; i < DOCUMENTS; ++i) {
    const document = { value: randomValue(below, 5) };
    const bytes = Buffer.from(encodeMessagePack(document, { useBigInt64: true }));
    const expected = decodeMessagePack(bytes, { useBigInt64: true });
    assert.deepEqual(plain(readBody(bytes)), withoutBigints(expected));
    for (let cut = 0; cut < CUTS; ++cut) {
      assert.equal(attempt(() => readBody(bytes.subarray(0, below(bytes.length)))), undefined);
    }
  }
});

test('a length that is only claimed takes no memory', () => {
  // 16 levels of arrays that claim 2^20 elements each, in 80 bytes.
  const claims = Array(15).fill([0xdd, 0, 0x10, 0, 0]).flat();
  const body = Buffer.from([0x81, 0xa1, 0x61, ...claims]);
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 1000; ++i) assert.equal(attempt(() => readBody(body)), undefined);
  const grown = process.memoryUsage().heapUsed - before;
  assert.ok(grown < 64 * 2 ** 20, `grew by ${grown} bytes`);
});

test('whatever a daemon answers, each request ends and the client goes on', async (t) => {
  const below = random(t);
  const vectors = readVectors();
  const daemon = await FalseDaemon.start(t, ({ id, replyFrames }) => {
    const [, [header, , ...rest]] = vectors[below(vectors.length)];
    // Damaged behind the request id; now and then everywhere.
    const damaged = mutated([header, ...rest], below);
    replyFrames(below(10) > 0 ? [header, id, ...damaged.slice(1)] : mutated([header, id], below));
  });
  const client = await connect({ endpoint: daemon.endpoint, timeoutMs: 500, lostMs: 500 });
  t.after(() => client.close());
  const outcomes = { answered: 0, failed: 0 };
  for (let i = 0; i < ANSWERS; ++i) {
    try {
      const ask = [() => client.status(), () => client.getChunk('chunk_0123'),
        () => client.generate({ prompt: 'x' }), () => client.listSessions()];
      await ask[below(ask.length)]();
      ++outcomes.answered;
    } catch (error) {
      if (!(error instanceof CascadeError)) throw error;
      ++outcomes.failed;
    }
  }
  t.diagnostic(JSON.stringify(outcomes));
  assert.equal(outcomes.answered + outcomes.failed, ANSWERS);
  assert.ok(outcomes.failed > 0);
  daemon.answer = ({ reply }) => reply('SessionListReply', { sessions: [] });
  assert.deepEqual(await client.listSessions(), []);
});
