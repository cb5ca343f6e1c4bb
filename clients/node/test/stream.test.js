// Streams of a real daemon: their events, their ends, and what happens when somebody goes away.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { GenerationStream, connect } from '../src/index.js';
import { Daemon, daemonForAll, LONG, TIMEOUT_MS } from './support.js';

const GREEDY = { sampling: { temperature: 0 } };
const QUESTION = 'What is the capital of France?';
const CAPITAL = { ...GREEDY, messages: [{ role: 'user', content: QUESTION }] };
// Runs for long: it is ended by what the tests do.
const ENDLESS = { ...GREEDY, prompt: 'Count: 1, 2, 3,', ignoreEos: true, maxTokens: 16_000 };

let daemon;
let client;
let end;
before(async () => {
  ({ daemon, client, end } = await daemonForAll());
});
after(() => end?.());

// Until the daemon runs nothing: cancelled generations leave in their own time.
async function idle() {
  for (;;) {
    const { requestsRunning, requestsWaiting } = await client.status();
    if (requestsRunning + requestsWaiting === 0) return;
  }
}

async function firstDelta(stream) {
  for (;;) {
    const { value, done } = await stream.next();
    assert.equal(done, false);
    if (value.type === 'delta') return value;
  }
}

test('the deltas, joined, are the text of the end', async () => {
  const events = [];
  for await (const event of client.stream(CAPITAL)) events.push(event);
  assert.equal(events[0].type, 'accepted');
  const final = events.at(-1);
  assert.equal(final.type, 'final');
  const deltas = events.filter(({ type }) => type === 'delta');
  assert.equal(deltas.map(({ text }) => text).join(''), final.text);
  assert.ok(events.slice(1, -1).every(({ type }) => type === 'delta' || type === 'progress'));
});

test('of a stream that is not read the daemon joins the text', async () => {
  // There were more bursts than room for deltas, so the last delta has all that was left.
  const [maxTokens, deltaCredit] = LONG ? [5_000, undefined] : [400, 4];
  const request = { ...GREEDY, prompt: 'Count: 1, 2, 3,', ignoreEos: true, maxTokens, deltaCredit };
  const stream = client.stream(request);
  const final = await stream.result();
  const deltas = [];
  for await (const event of stream) if (event.type === 'delta') deltas.push(event.text);
  assert.equal(deltas.join(''), final.text);
  assert.ok(deltas.length <= (deltaCredit ?? 64) + 1, `${deltas.length} deltas`);
});

// That room is made while a stream is read is tested with a false daemon, too.
const SKIP = LONG ? false : 'takes 5,000 tokens: CASCADE_LONG_TESTS=1 runs it';
test('a stream that is read gets as many deltas as there are', { skip: SKIP }, async () => {
  // The answer takes at least 78 bursts.
  const request = { ...GREEDY, prompt: 'Count: 1, 2, 3,', ignoreEos: true, maxTokens: 5_000 };
  const deltas = [];
  let final;
  for await (const event of client.stream(request)) {
    if (event.type === 'delta') deltas.push(event.text);
    if (event.type === 'final') final = event;
  }
  assert.equal(deltas.join(''), final.text);
  assert.ok(deltas.length > 65, `${deltas.length} deltas`);
});

test('thoughts and answer come apart', async () => {
  // The demo model seldom thinks by itself: 8186 is its <think>.
  const sampling = { temperature: 0, logitBias: [{ token: 8186, bias: 8 }] };
  const stream = client.stream({ ...CAPITAL, sampling });
  const joined = { true: '', false: '' };
  for await (const event of stream) {
    if (event.type === 'delta') joined[event.reasoning] += event.text;
  }
  const final = await stream.result();
  assert.deepEqual(joined, { true: final.reasoning, false: final.text });
  assert.ok(final.usage.reasoningTokens > 0);
});

test('a stream that nobody iterates over ends, too', async () => {
  const stream = client.stream(CAPITAL);
  assert.match((await stream.result()).text, /Paris/);
  const events = [];
  for await (const { type } of stream) events.push(type);
  assert.equal(events.at(-1), 'final');
});

test('a cancelled stream ends with what it has so far', async () => {
  const stream = client.stream(ENDLESS);
  let text = (await firstDelta(stream)).text;
  await stream.cancel();
  for await (const event of stream) if (event.type === 'delta') text += event.text;
  const final = await stream.result();
  assert.equal(final.finishReason, 'cancelled');
  assert.equal(final.text, text);
  await stream.cancel(); // it has ended: no error
  await assert.rejects(client.cancel(stream), { code: 'not_found' });
});

test('a stream can be cancelled by its id, also before it runs', async () => {
  const stream = client.stream(ENDLESS);
  assert.ok(stream instanceof GenerationStream);
  assert.equal(stream.id.length, 16);
  await client.cancel(stream.id);
  assert.equal((await stream.result()).finishReason, 'cancelled');
});

test('a loop that is left cancels the generation', async () => {
  let deltas = 0;
  for await (const { type } of client.stream(ENDLESS)) {
    if (type === 'delta' && ++deltas === 3) break;
  }
  await idle();
  await assert.rejects(async () => {
    for await (const { type } of client.stream(ENDLESS)) {
      if (type === 'delta') throw new Error('a bug of mine');
    }
  }, { message: 'a bug of mine' });
  await idle();
});

test('an aborted stream throws the reason, and the daemon stops', async () => {
  const controller = new AbortController();
  const stream = client.stream(ENDLESS, { signal: controller.signal });
  await firstDelta(stream);
  const reason = new Error('the user left');
  controller.abort(reason);
  await assert.rejects(stream.next(), reason);
  assert.deepEqual(await stream.next(), { value: undefined, done: true });
  await assert.rejects(stream.result(), reason);
  await idle();
});

test('one signal aborts many', async () => {
  const controller = new AbortController();
  const warnings = [];
  const warned = (warning) => warnings.push(warning.message);
  process.on('warning', warned);
  const all = Array.from({ length: 30 }, () =>
    client.generate(ENDLESS, { signal: controller.signal }));
  await firstDelta(client.stream({ ...CAPITAL }));
  controller.abort();
  const settled = await Promise.allSettled(all);
  assert.ok(settled.every(({ reason }) => reason?.name === 'AbortError'));
  const before = client.generate(CAPITAL, { signal: controller.signal });
  await assert.rejects(before, { name: 'AbortError' });
  await idle();
  process.off('warning', warned);
  assert.deepEqual(warnings, []);
});

test('what is wrong with a request is thrown by its stream', async () => {
  const local = client.stream({ prompt: 'x', maxTokens: 'many' });
  await assert.rejects(local.next(), { code: 'invalid_argument', field: 'max_tokens' });
  assert.deepEqual(await local.next(), { value: undefined, done: true });
  const refused = client.stream({ prompt: '' });
  await assert.rejects(refused.next(), { code: 'invalid_argument', field: 'prompt' });
  await assert.rejects(refused.result(), { code: 'invalid_argument', field: 'prompt' });
});

test('a deadline ends a generation with an error', async () => {
  await assert.rejects(client.generate({ ...ENDLESS, timeoutMs: 1 }),
    { code: 'deadline_exceeded' });
});

test('many streams at once do not mix', async () => {
  const capitals = [['France', 'Paris'], ['Italy', 'Rome'], ['Spain', 'Madrid']];
  const asked = Array.from({ length: 12 }, (_, i) => capitals[i % capitals.length]);
  await Promise.all(asked.map(async ([country, city]) => {
    const content = `What is the capital of ${country}?`;
    let text = '';
    for await (const event of client.stream({ ...GREEDY, messages: [{ role: 'user', content }] })) {
      if (event.type === 'delta') text += event.text;
    }
    assert.match(text, new RegExp(city));
  }));
});

test('a closed client ends its generations in the daemon', async () => {
  const other = await connect({ runDir: daemon.runDir, timeoutMs: TIMEOUT_MS });
  const stream = other.stream(ENDLESS);
  await firstDelta(stream);
  await other.close();
  await assert.rejects(stream.result(), { code: 'cancelled', field: 'client' });
  await idle();
});

test('a killed daemon ends its streams; the same client finds the next one', async (t) => {
  const mortal = await Daemon.start(t);
  const other = await connect({ runDir: mortal.runDir, timeoutMs: TIMEOUT_MS });
  t.after(() => other.close());
  const { id } = await other.putChunk('CONTEXT', 'It stays.');
  const bootId = other.bootId;
  const stream = other.stream(ENDLESS);
  await firstDelta(stream);
  const waiting = other.generate(ENDLESS);
  waiting.catch(() => {});
  await mortal.stop('SIGKILL');
  const gone = { code: 'unavailable', field: 'endpoint', retryable: true };
  await assert.rejects(async () => {
    for await (const event of stream) assert.notEqual(event.type, 'final');
  }, gone);
  await assert.rejects(waiting, gone);
  await assert.rejects(other.status(), gone);
  await Daemon.start(t, mortal.folder);
  assert.equal((await other.getChunk(id)).text, 'It stays.');
  assert.notEqual(other.bootId, bootId);
});
