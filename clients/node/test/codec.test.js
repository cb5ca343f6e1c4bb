// Messages and frames: the vectors of the protocol, numbers, limits, and what names a problem.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decode as decodeMessagePack, encode as encodeMessagePack } from '@msgpack/msgpack';

import { decode, encode } from '../src/frames.js';
import { messageNames } from '../src/messages.js';
import { readVectors } from './support.js';

const id = Uint8Array.from({ length: 16 }, (_, i) => i);

// Whole numbers in fields of floating point travel as integers from here: the protocol allows it.
const WITH_WHOLE_FLOATS = [
  'chunk_list_reply', 'chunk_reply', 'generate_request', 'stats_reply', 'status_reply',
];

function bytes(...values) {
  return Buffer.from(values.flatMap((value) =>
    (typeof value === 'string' ? [...Buffer.from(value)] : value)));
}

function framesWith(type, body, ...arrays) {
  return [bytes('CAS1', 1, messageNames.indexOf(type), 0, 0), Buffer.from(id), body, ...arrays];
}

// A Pong whose `boot_id` is a string, and one more field with these bytes as its value.
function pongWith(...value) {
  const known = [0x83, 0xa7, 'boot_id', 0xa1, 'b', 0xa7, 'version', 0xa1, 'v'];
  return framesWith('Pong', bytes(...known, 0xa1, 'x', ...value));
}

function refused(code, field, message = /./) {
  return { name: 'CascadeError', code, field, message };
}

test('every vector is read, and written as it was', () => {
  for (const [file, frames] of readVectors()) {
    const { name, message } = decode(frames);
    const again = encode(name, message, frames[1]).map((frame) => Buffer.from(frame));
    const body = again.splice(2, 1)[0];
    const expected = [...frames];
    const expectedBody = expected.splice(2, 1)[0];
    assert.deepEqual(again, expected, file);
    if (WITH_WHOLE_FLOATS.includes(file)) {
      assert.deepEqual(decodeMessagePack(body), decodeMessagePack(expectedBody), file);
    } else {
      assert.deepEqual(body, expectedBody, file);
    }
  }
});

test('there is a vector of every message', () => {
  const names = readVectors().map(([, frames]) => decode(frames).name);
  assert.deepEqual(names.toSorted(), messageNames.toSorted());
  for (const [, frames] of readVectors()) {
    assert.equal(messageNames[frames[0][5]], decode(frames).name);
  }
});

test('the fields of a vector are what the specification says', () => {
  const vectors = new Map(readVectors());
  const final = decode(vectors.get('final')).message;
  assert.equal(final.text, 'Rome.');
  assert.deepEqual(final.tokenIds, Int32Array.of(151667, 49, 2));
  assert.deepEqual(final.logprobs, Float32Array.of(-0.5, -0.25, -2));
  assert.deepEqual(final.usage.miss, { reason: 'differs', position: 25, knownToken: 17 });
  assert.equal(final.durable, true);
  assert.equal(final.attention, 'select:4096:0');
  assert.equal(final.usage.selectedTokens, 4);
  assert.equal(final.usage.draftedTokens, 9);
  assert.equal(final.usage.acceptedTokens, 8);
  assert.equal(decode(vectors.get('generate_request')).message.attention, 'select:4096');
  const put = encode('ChunkPut', { type: 'CONTEXT', text: 'Grüße, 世界' }, id);
  assert.deepEqual(put.map((frame) => Buffer.from(frame)), vectors.get('chunk_put'));
  const { chunk } = decode(vectors.get('chunk_reply')).message;
  assert.deepEqual(chunk.tokenIds, Int32Array.of(151667, 151668, 12));
  assert.deepEqual(chunk.thinkSpans, [{ begin: 0, end: 2, closed: true }]);
});

test('what is absent has its default, or is not there', () => {
  const usage = { prompt_tokens: 1, reused_tokens: 0, prefilled_tokens: 1, completion_tokens: 1,
    reasoning_tokens: 0 };
  const timings = { queue_us: 0, prefill_us: 0, first_token_us: 0, decode_us: 0, total_us: 0 };
  const body = { text: '', reasoning: '', finish_reason: 'stop', usage, timings, seed: 1,
    output_chunk_id: '', think_policy: null };
  const { message } = decode(framesWith('Final', Buffer.from(encodeMessagePack(body))));
  assert.deepEqual(message.tokenIds, new Int32Array(0));
  assert.equal(message.durable, true);
  assert.equal(message.thinkPolicy, 'reprefill');
  assert.equal(message.attention, '');
  assert.equal(message.usage.loadedTokens, 0);
  assert.equal(message.usage.selectedTokens, 0);
  assert.deepEqual(message.usage.miss, { reason: 'none', position: 0, knownToken: -1 });
  const stats = { groups: [], chunks_max: 1, text_bytes_max: 1, pages_of_tenant: 0, disk: null };
  const reply = decode(framesWith('StatsReply', Buffer.from(encodeMessagePack(stats)))).message;
  assert.deepEqual(Object.keys(reply), ['groups', 'chunksMax', 'textBytesMax', 'pagesOfTenant']);
});

test('integers keep their value: numbers where these are exact, else bigints', () => {
  const roundTrip = (ttlMs) =>
    decode(encode('PolicySet', { type: 'OUTPUT', ttlMs }, id)).message.ttlMs;
  for (const value of [0, -1, 127, 128, -33, 65_536, 2 ** 31, -(2 ** 31), 2 ** 32 - 1, 2 ** 32,
    2 ** 33, -(2 ** 33), 2 ** 53 - 1, -(2 ** 53 - 1), 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)]) {
    assert.equal(roundTrip(value), value);
  }
  assert.equal(roundTrip(5n), 5);
  const seed = 2n ** 64n - 1n;
  const request = encode('GenerateRequest', { prompt: 'x', sampling: { seed } }, id);
  assert.equal(decode(request).message.sampling.seed, seed);
  // 100 years as an unsigned integer of 8 bytes, not as floating point.
  const [, , body] = encode('PolicySet', { type: 'OUTPUT', ttlMs: 3_153_600_000_000 }, id);
  assert.equal(body.at(-9), 0xcf);
});

test('floating point may be single, double or whole; an integer must be one', () => {
  const progress = (...rate) => framesWith('Progress', bytes(0x83,
    0xad, 'prompt_tokens', 1, 0xb2, 'prompt_tokens_done', 1, 0xac, 'tokens_per_s', ...rate));
  assert.equal(decode(progress(0xca, 0x3f, 0xc0, 0, 0)).message.tokensPerS, 1.5);
  assert.equal(decode(progress(0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0)).message.tokensPerS, 1.5);
  assert.equal(decode(progress(7)).message.tokensPerS, 7);
  const accepted = framesWith('Accepted',
    bytes(0x81, 0xae, 'queue_position', 0xca, 0x40, 0xa0, 0, 0));
  assert.throws(() => decode(accepted),
    refused('invalid_argument', 'queue_position', 'must be a whole number'));
});

test('a byte order mark stays', () => {
  const text = `\uFEFF${'long '.repeat(100)}`;
  assert.equal(decode(encode('Delta', { text, reasoning: false }, id)).message.text, text);
});

test('keys that are not known are ignored, whatever is in them', () => {
  const values = [[0xc0], [0xc4, 1, 9], [0xd4, 5, 0], [0xc7, 2, 5, 0, 0], [0x91, 0xca, 0, 0, 0, 0],
    [0x81, 0xa9, '__proto__', 1], [0xd3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]];
  for (const value of values) {
    assert.deepEqual(decode(pongWith(...value)).message, { bootId: 'b', version: 'v' });
  }
  const named = framesWith('Pong', bytes(0x83, 0xa7, 'boot_id', 0xa1, 'b', 0xa7, 'version', 0xa1,
    'v', 0xa9, '__proto__', 0x80));
  assert.deepEqual(decode(named).message, { bootId: 'b', version: 'v' });
});

test('a body that is not one strict, bounded map is refused', () => {
  const nested = (depth) => [...Array(depth - 1).fill(0x91), 0x90];
  assert.doesNotThrow(() => decode(pongWith(...nested(15))));
  const u32 = (value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  const bad = [
    [pongWith(...nested(16)), /^is nested deeper than 16 levels$/],
    [pongWith(0xdf, ...u32(257)), /^has a map of more than 256 keys$/],
    [pongWith(0xdd, ...u32(2 ** 20 + 1)), /^has an array of more than 1048576 elements$/],
    [pongWith(0xdd, ...u32(2 ** 20)), /^ends within a value, at byte \d+$/],
    [pongWith(0xdb, ...u32(2 ** 24 + 1)), /^has a string of 16777217 bytes/],
    [pongWith(0xdb, ...u32(2 ** 24)), /^ends within a value/],
    [pongWith(0xc6, ...u32(2 ** 32 - 1)), /^ends within a value/],
    [pongWith(0xa2, 0xc3, 0x28), /^has a string that is not UTF-8/],
    [pongWith(0xa3, 0xed, 0xa0, 0x80), /^has a string that is not UTF-8/],
    [pongWith(0x82, 0xa1, 'a', 1, 0xa1, 'a', 1), /^has the key "a" twice$/],
    [pongWith(0x81, 1, 1), /^has a map with a key that is not a string$/],
    [pongWith(0xc1), /^is not valid MessagePack at byte \d+$/],
    [pongWith(1, 1), /^has bytes after its map, at byte \d+$/],
    [framesWith('Pong', Buffer.alloc(0)), /^ends within a value, at byte 0$/],
    [framesWith('Pong', bytes(0x90)), /^is not a map$/],
  ];
  for (const [frames, message] of bad) {
    assert.throws(() => decode(frames), refused('invalid_argument', 'body', message));
  }
});

test('a body of more than two million values is refused', () => {
  const many = [0xdd, 0, 0x10, 0, 0]; // 2^20 elements
  const elements = Buffer.alloc(2 ** 20, 0x01);
  const frames = framesWith('Pong', Buffer.concat([bytes(0x82, 0xa1, 'a', ...many), elements,
    bytes(0xa1, 'b', ...many), elements]));
  assert.throws(() => decode(frames), refused('invalid_argument', 'body',
    'has more than 2097152 values'));
});

test('an envelope that is not that of this protocol is refused by the part that is wrong', () => {
  const [header, requestId, body] = framesWith('Ack', bytes(0x80));
  const changed = (at, value) => {
    const copy = Buffer.from(header);
    copy[at] = value;
    return [copy, requestId, body];
  };
  const bad = [
    [[header, requestId], 'invalid_argument', 'frames'],
    [Array(4097).fill(header), 'invalid_argument', 'frames'],
    [[header, requestId, Buffer.alloc(64 * 2 ** 20)], 'invalid_argument', 'frames'],
    [[header, requestId.subarray(1), body], 'invalid_argument', 'request_id'],
    [[header.subarray(1), requestId, body], 'invalid_argument', 'header'],
    [changed(0, 0x44), 'invalid_argument', 'magic'],
    [changed(4, 2), 'unsupported', 'version'],
    [changed(5, messageNames.length), 'unsupported', 'type'],
    [changed(7, 1), 'invalid_argument', 'flags'],
  ];
  for (const [frames, code, field] of bad) {
    assert.throws(() => decode(frames), refused(code, field));
  }
});

test('a field that is missing or not what it should be is named', () => {
  const decoded = (name, body, ...arrays) =>
    () => decode(framesWith(name, Buffer.from(encodeMessagePack(body)), ...arrays));
  const words = Buffer.alloc(8);
  const hit = { id: 'a', type: 'OUTPUT', snippet: 's' };
  const base = { text: '', reasoning: '', finish_reason: '' };
  const bad = [
    [decoded('Pong', { boot_id: 'b' }), 'version', 'is missing'],
    [decoded('Pong', { boot_id: 'b', version: 1 }), 'version', 'must be a string'],
    [decoded('Delta', { text: '', reasoning: 0 }), 'reasoning', 'must be true or false'],
    [decoded('Accepted', { queue_position: 2 ** 31 }), 'queue_position',
      'must be between -2147483648 and 2147483647'],
    [decoded('ChunkSearchReply', { hits: [hit, { ...hit, id: 5 }] }), 'hits[1].id',
      'must be a string'],
    [decoded('ChunkSearchReply', { hits: {} }), 'hits', 'must be an array'],
    [decoded('ChunkSearchReply', { hits: [[]] }), 'hits[0]', 'must be a map'],
    [decoded('CancelRequest', { target: 'abc' }), 'target', 'must be 16 bytes'],
    [decoded('Final', { ...base, token_ids: 1 }, words), 'token_ids', 'refers to array 1 of 1'],
    [decoded('Final', { ...base, token_ids: -1 }, words), 'token_ids',
      'must be the number of an array'],
    [decoded('Final', { ...base, token_ids: 0, logprobs: 0 }, words), 'logprobs',
      'refers to array 0, which another field has'],
    [decoded('Final', { ...base, token_ids: 0 }, Buffer.alloc(7)), 'token_ids',
      'has an array of 7 bytes, which is not a multiple of 4'],
  ];
  for (const [action, field, message] of bad) {
    assert.throws(action, refused('invalid_argument', field, message));
  }
});

test('the chunks of a list share one array of token ids', () => {
  const [, frames] = readVectors().find(([name]) => name === 'chunk_list_reply');
  const { message } = decode(frames);
  const [chunk] = message.chunks;
  const chunks = [[1, 2], [], [3]].map((ids) => ({ ...chunk, tokenIds: Int32Array.from(ids) }));
  const list = { chunks, tokenCounts: [2, 0, 1], more: false };
  const encoded = encode('ChunkListReply', list, id).map((frame) => Buffer.from(frame));
  assert.deepEqual(decode(encoded).message, list);
  encoded[3] = encoded[3].subarray(4);
  assert.throws(() => decode(encoded), refused('invalid_argument', 'body',
    'has fewer token ids than its chunks count'));
  encoded[3] = Buffer.alloc(16);
  assert.throws(() => decode(encoded), refused('invalid_argument', 'body',
    'has more token ids than its chunks count'));
});

test('what a request must not be is said before it is sent', () => {
  const bad = [
    ['GenerateRequest', { max_tokens: 1 }, 'max_tokens', /did you mean maxTokens\?$/],
    ['GenerateRequest', { tempreature: 1 }, 'tempreature', /^is not a field of this$/],
    ['GenerateRequest', { sampling: { top_p: 1 } }, 'sampling.top_p', /mean topP/],
    ['GenerateRequest', { maxTokens: '5' }, 'max_tokens', /^must be a whole number$/],
    ['GenerateRequest', { maxTokens: 1.5 }, 'max_tokens', /^must be a whole number$/],
    ['GenerateRequest', { maxTokens: 2 ** 31 }, 'max_tokens', /^must be between/],
    ['GenerateRequest', { timeoutMs: 2 ** 53 }, 'timeout_ms', /give it as a bigint$/],
    ['GenerateRequest', { sampling: { temperature: NaN } }, 'sampling.temperature',
      /^must be a finite number$/],
    ['GenerateRequest', { sampling: { seed: -1 } }, 'sampling.seed', /^must be between 0 and/],
    ['GenerateRequest', { sampling: { seed: 2n ** 64n } }, 'sampling.seed', /^must be between/],
    ['GenerateRequest', { stop: 'x' }, 'stop', /^must be an array$/],
    ['GenerateRequest', { stop: ['x', null] }, 'stop[1]', /^must be a string$/],
    ['GenerateRequest', { messages: [{ role: 'user' }] }, 'messages[0].content', /^is missing$/],
    ['GenerateRequest', { messages: [{ role: 'user', content: '\ud800' }] },
      'messages[0].content', /surrogate/],
    ['GenerateRequest', { prompt: 'é'.repeat(9_000_000) }, 'prompt', /^has 18000000 bytes/],
    ['GenerateRequest', { thinking: 'yes' }, 'thinking', /^must be true or false$/],
    ['GenerateRequest', { reasoningEffort: 3 }, 'reasoning_effort', /^must be a string$/],
    ['GenerateRequest', null, 'body', /^must be an object$/],
    ['GenerateRequest', 'hello', 'body', /^must be an object$/],
    ['ChunkPut', { type: 'CONTEXT', tokenIds: [1, 2.5] }, 'token_ids[1]', /whole number/],
    ['ChunkPut', { type: 'CONTEXT', tokenIds: 'ids' }, 'token_ids', /an Int32Array$/],
    ['ChunkPut', { type: 'CONTEXT', tokenIds: new Uint8Array(2) }, 'token_ids', /Int32Array$/],
    ['ChunkGet', {}, 'id', /^is missing$/],
    ['CancelRequest', { target: new Uint8Array(15) }, 'target', /^must be 16 bytes$/],
  ];
  for (const [name, message, field, problem] of bad) {
    assert.throws(() => encode(name, message, id), refused('invalid_argument', field, problem));
  }
});

test('a message beyond 64 MiB is not sent', () => {
  const text = 'x'.repeat(15 * 2 ** 20);
  const messages = Array(5).fill({ role: 'user', content: text });
  assert.throws(() => encode('GenerateRequest', { messages }, id),
    refused('invalid_argument', 'frames'));
});
