// Events of a real daemon arrive, complete and in order.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { connect } from '../src/index.js';
import { Daemon, temporaryFolder } from './support.js';

// As patient as a build with sanitizers needs it.
const TIMEOUT_MS = 60_000;
const GREEDY = { sampling: { temperature: 0 } };

async function start(t) {
  const daemon = await Daemon.start(t);
  const client = await connect({ runDir: daemon.runDir, timeoutMs: TIMEOUT_MS });
  t.after(() => client.close());
  return client;
}

// The events up to the first that `last` is true for.
async function until(events, last) {
  const seen = [];
  for (;;) {
    const { value, done } = await events.next();
    assert.ok(!done, 'the events ended');
    seen.push(value);
    if (last(value)) return seen;
  }
}

test('what happens to a chunk and a request is told in order', async (t) => {
  const client = await start(t);
  await client.putChunk('CONTEXT', 'Before anyone listens.');
  const events = client.events();
  const { id } = await client.putChunk('CONTEXT', 'Rome is in Italy.');
  const chunks = [{ type: 'CONTEXT', id }, { type: 'QUERY', text: 'Where is Rome?' }];
  const { tokenIds } = await client.generate({ chunks, maxTokens: 4, ...GREEDY });
  await client.deleteChunk(id);
  const seen = await until(events, ({ kind }) => kind === 'chunk_deleted');
  const ofChunk = seen.filter((event) => event.id === id);
  assert.deepEqual(ofChunk.filter(({ kind }) => /stored|used|deleted/.test(kind))
    .map(({ kind }) => kind), ['chunk_stored', 'chunk_used', 'chunk_deleted']);
  assert.equal(ofChunk[0].type, 'CONTEXT');
  assert.ok(ofChunk[0].tokens > 0);
  const ofRequest = seen.filter(({ kind }) => kind.startsWith('request'));
  assert.deepEqual(ofRequest.map(({ kind }) => kind), ['request_started', 'request_finished']);
  const [started, finished] = ofRequest;
  assert.equal(started.id, finished.id);
  assert.match(started.id, /^[0-9a-f]{32}$/);
  assert.equal(finished.tokens, tokenIds.length);
  assert.ok(['length', 'stop'].includes(finished.reason), finished.reason);
  const first = seen[0].sequence;
  assert.deepEqual(seen.map(({ sequence }) => sequence), seen.map((_, i) => first + i));
  assert.equal(seen[0].bootId, client.bootId);
  assert.equal(first, 2, 'what was before is not told');
  assert.equal(events.last, seen.at(-1).sequence);
  await events.return();
  assert.deepEqual(await events.next(), { value: undefined, done: true });
});

test('who was away reads what came behind the last number', async (t) => {
  const client = await start(t);
  const ids = [];
  for (let i = 0; i < 5; ++i) ids.push(await client.registerChunk(`Text ${i}.`, 'CONTEXT'));
  const events = client.events({ since: 2, bootId: client.bootId });
  const seen = await until(events, ({ id }) => id === ids.at(-1));
  assert.deepEqual(seen.map(({ sequence, id }) => [sequence, id]),
    [[3, ids[2]], [4, ids[3]], [5, ids[4]]]);
  await events.return();
});

test('a thousand events and more come whole', async (t) => {
  const client = await start(t);
  const { id } = await client.putChunk('QUERY', 'What?');
  const events = client.events();
  for (let i = 0; i < 1100; i += 50) { // a full queue would refuse some
    await Promise.all(Array.from({ length: 50 }, (_, k) =>
      client.putChunk('CONTEXT', `Number ${i + k}.`)));
  }
  await client.deleteChunk(id);
  const seen = await until(events, ({ kind }) => kind === 'chunk_deleted');
  assert.equal(seen.length, 1101);
  assert.deepEqual(seen.map(({ sequence }) => sequence), seen.map((_, i) => i + 2));
});

test('a number that the daemon did not give is a gap', async (t) => {
  const client = await start(t);
  const id = await client.registerChunk('Kept.', 'CONTEXT');
  for (const options of [{ since: 77 }, { since: 1, bootId: 'boot_of_another_time' }]) {
    const events = client.events(options);
    const gap = (await events.next()).value;
    assert.deepEqual(gap, { kind: 'gap', bootId: client.bootId, after: 0 });
    assert.equal((await events.next()).value.id, id);
    await events.return();
  }
});

test('the end of the daemon is told, and its return is a gap', async (t) => {
  const folder = temporaryFolder(t);
  const daemon = await Daemon.start(t, folder);
  const client = await connect({ runDir: daemon.runDir, timeoutMs: TIMEOUT_MS });
  t.after(() => client.close());
  const events = client.events();
  await client.registerChunk('Once.', 'CONTEXT');
  assert.equal((await events.next()).value.kind, 'chunk_stored');
  const failing = assert.rejects(events.next(), { code: 'unavailable', field: 'endpoint' });
  await daemon.stop();
  await failing;
  await Daemon.start(t, folder);
  const gap = (await events.next()).value;
  assert.equal(gap.kind, 'gap');
  assert.notEqual(gap.bootId, undefined);
  const id = await client.registerChunk('Twice.', 'CONTEXT');
  assert.equal((await until(events, (event) => event.id === id)).at(-1).kind, 'chunk_stored');
});

test('events end with the client, the loop and the signal', async (t) => {
  const client = await start(t);
  const left = client.events();
  await client.registerChunk('One.', 'CONTEXT');
  for await (const { kind } of left) {
    assert.equal(kind, 'chunk_stored');
    break;
  }
  assert.equal((await left.next()).done, true);
  const controller = new AbortController();
  const aborted = client.events({ signal: controller.signal });
  const waiting = assert.rejects(aborted.next(), { name: 'AbortError' });
  controller.abort();
  await waiting;
  const closed = client.events();
  const ending = closed.next();
  await client.close();
  await ending.then(({ done }) => assert.ok(done), ({ field }) => assert.equal(field, 'client'));
  assert.throws(() => client.events(), { code: 'invalid_argument', field: 'client' });
});
