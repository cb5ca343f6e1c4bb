// Every call, answered by a real daemon with the demo model.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { CascadeError, chunkReference, connect } from '../src/index.js';
import { daemonForAll } from './support.js';

const SYSTEM = 'You are a helpful assistant.';
const FRANCE = 'What is the capital of France?';
const GREEDY = { sampling: { temperature: 0 } };

let daemon;
let client;
let end;
before(async () => {
  ({ daemon, client, end } = await daemonForAll());
});
after(() => end?.());

test('the daemon says what it is', async () => {
  await client.ping();
  const status = await client.status();
  assert.equal(status.model, 'demo');
  assert.equal(status.state, 'serving');
  assert.equal(status.bootId, client.bootId);
  assert.equal(status.version, client.daemonVersion);
  assert.ok(status.contextTokensMax > 0);
  assert.deepEqual(status.warnings, []);
});

test('a second turn goes on after the retained output of the first', async () => {
  const first = await client.generateAndRetainOutput(SYSTEM, FRANCE, GREEDY);
  assert.equal(first.text, 'The capital of France is Paris.');
  assert.match(first.outputChunkId, /^output_[0-9a-f]{32}$/);
  assert.equal(first.finishReason, 'stop');
  assert.equal(first.tokenIds.length, first.usage.completionTokens);
  const system = await client.registerChunk(SYSTEM, 'SYSTEM_PROMPT');
  const query = await client.registerChunk('What city did we just discuss?', 'QUERY');
  const second = await client.generateFromChunks(system, [first.outputChunkId], query, GREEDY);
  assert.equal(second.text, 'We just discussed Paris.');
  assert.ok(second.usage.reusedTokens > 0);
  assert.ok((await client.getRetainedSequences())
    .some(({ chunk, tokens }) => chunk.id === first.outputChunkId && tokens > 0));
  const output = await client.getChunk(first.outputChunkId);
  assert.equal(output.text, first.text);
  assert.deepEqual(output.tokenIds, first.tokenIds);
  await client.releaseRetainedSequence(first.outputChunkId);
  await assert.rejects(client.getChunk(first.outputChunkId), { code: 'not_found', field: 'id' });
});

test('the three kinds of prompts, and log-probabilities', async () => {
  const messages = [{ role: 'system', content: SYSTEM }, { role: 'user', content: FRANCE }];
  const request = { messages, ...GREEDY, logprobs: true, topLogprobs: 2 };
  const conversation = await client.generate(request);
  assert.equal(conversation.text, 'The capital of France is Paris.');
  assert.equal(conversation.logprobs.length, conversation.tokenIds.length);
  assert.equal(conversation.topTokenIds.length, 2 * conversation.tokenIds.length);
  assert.equal(conversation.topLogprobs[0], conversation.logprobs[0]);
  assert.deepEqual((await client.generate(request)).logprobs, conversation.logprobs);
  const raw = await client.generate({ prompt: 'The capital of', maxTokens: 3, ignoreEos: true });
  assert.equal(raw.finishReason, 'length');
  assert.equal(raw.tokenIds.length, 3);
});

test('a request may keep data, rank its prompt and refuse reuse', async () => {
  const request = { messages: [{ role: 'user', content: 'What is 2+3?' }], maxTokens: 8,
    sampling: { temperature: 0, presencePenalty: 1.5, frequencyPenalty: -0.5 } };
  const { outputChunkId } = await client.generate({ ...request, retainOutput: true,
    clientData: 'ß\0', outputName: 'sum', outputPriority: 90, thinkPolicy: 'keep',
    promptPriority: 90, promptPriorityMs: 60_000 });
  const { clientData, generation, name, priority, thinkPolicy } =
    await client.getChunk(outputChunkId);
  assert.deepEqual([clientData, name, priority, thinkPolicy], ['ß\0', 'sum', 90, 'keep']);
  assert.deepEqual([generation.presencePenalty, generation.frequencyPenalty], [1.5, -0.5]);
  const { usage } = await client.generate({ ...request, reuse: false });
  assert.deepEqual([usage.reusedTokens, usage.miss.reason], [0, 'reuse_off']);
});

test('the next turn goes on from an answer whose thoughts were taken out', async () => {
  // The demo model thinks or does not, as it is drawn.
  let first;
  for (let seed = 1; seed < 40; ++seed) {
    first = await client.generate({ messages: [{ role: 'user', content: 'What is 12+31?' }],
      maxTokens: 200, sampling: { temperature: 0.8, seed }, retainOutput: true,
      thinkPolicy: 'splice', heal: false });
    if (first.reasoning !== '' && first.text !== '') break;
  }
  assert.equal(first.approximation, 'none');
  const next = { previousOutput: first.outputChunkId, maxTokens: 4,
    messages: [{ role: 'user', content: 'And 2+3?' }] };
  const second = await client.generate({ ...next, thinkPolicy: 'splice' });
  assert.equal(second.approximation, 'splice');
  assert.ok(second.usage.approximateTokens > 0);
  const chunk = await client.getChunk(first.outputChunkId);
  assert.deepEqual([chunk.kvState, chunk.kvApproximation], ['ready', 'splice']);
  const exact = await client.generate({ ...next, thinkPolicy: 'mask' });
  assert.deepEqual([exact.approximation, exact.usage.approximateTokens], ['none', 0]);
});

test('a conversation that is too long goes on without its oldest turns', async () => {
  const messages = [
    { role: 'user', content: 'What of ' + 'the old town and '.repeat(5000) },
    { role: 'assistant', content: 'It is a town.' },
    { role: 'user', content: 'What of the new town?' },
  ];
  const request = { messages, maxTokens: 2, sampling: { temperature: 0 } };
  await assert.rejects(client.generate(request), { field: 'messages' });
  const { leftOut } = await client.generate({ ...request, onOverflow: 'drop_oldest' });
  assert.deepEqual(leftOut, { turns: 1, steps: 0 });
  const short = { ...request, messages: messages.slice(-1), onOverflow: 'drop_oldest' };
  assert.equal((await client.generate(short)).leftOut, undefined);
});

test('a conversation that is too long gets back what answers the question', async () => {
  const messages = [
    { role: 'user', content: `The code is 4711. ${'The town is old. '.repeat(5000)}` },
    { role: 'assistant', content: 'It is a town.' },
    { role: 'user', content: 'What is the code?' },
  ];
  const sampling = { temperature: 0 };
  const { retrieved, retrievedText } =
    await client.generate({ messages, maxTokens: 2, sampling, onOverflow: 'retrieve' });
  assert.ok(retrievedText.includes('The code is 4711.'));
  assert.equal(retrieved.length, 1);
  assert.equal(retrieved[0].chunkId, '');
});

test('a conversation that is too long may have summaries', async () => {
  const messages = [
    { role: 'user', content: 'What of ' + 'the old town and '.repeat(5000) },
    { role: 'assistant', content: 'It is a town.' },
    { role: 'user', content: 'What of the new town?' },
  ];
  const { leftOut, summarised } =
    await client.generate({ messages, maxTokens: 2, onOverflow: 'summarize' });
  assert.deepEqual(leftOut, { turns: 1, steps: 0 });
  assert.equal(summarised, undefined, 'nobody has written one');
  const page = await client.listChunks({ type: 'SUMMARY' });
  assert.deepEqual(page.chunks, []);
});

test('thoughts come apart from the answer', async () => {
  // The demo model thinks or does not, as it is drawn.
  for (let seed = 1; seed < 40; ++seed) {
    const deltas = [];
    const messages = [{ role: 'user', content: 'What is 2+2?' }];
    const answer = await client.generate({ messages, sampling: { temperature: 0.8, seed } },
      { onEvent: (event) => void (event.type === 'delta' && deltas.push(event)) });
    if (answer.reasoning === '' || answer.text === '') continue;
    const joined = (thought) =>
      deltas.filter(({ reasoning }) => reasoning === thought).map(({ text }) => text).join('');
    assert.deepEqual([joined(true), joined(false)], [answer.reasoning, answer.text]);
    assert.ok(answer.usage.reasoningTokens > 0);
    return;
  }
  assert.fail('no answer with thoughts');
});

test('stops and biases do what they say', async () => {
  const request = { messages: [{ role: 'user', content: FRANCE }], ...GREEDY };
  const stopped = await client.generate({ ...request, stop: [' is'] });
  assert.deepEqual([stopped.text, stopped.finishReason], ['The capital of France', 'stop']);
  const [token] = stopped.tokenIds;
  const sampling = { temperature: 0, logitBias: [{ token, bias: -100 }] };
  const banned = await client.generate({ ...request, sampling, maxTokens: 1 });
  assert.notEqual(banned.tokenIds[0], token);
});

test('a seed of 64 bits comes back, and repeats the answer', async () => {
  const seed = 2n ** 64n - 3n;
  const request = { messages: [{ role: 'user', content: 'Tell me a story.' }], maxTokens: 20,
    sampling: { temperature: 1.5, seed } };
  const once = await client.generate(request);
  assert.equal(once.seed, seed);
  assert.deepEqual((await client.generate(request)).tokenIds, once.tokenIds);
});

test('an answer says which attention mode was used', async () => {
  const request = { messages: [{ role: 'user', content: 'What is 2+2?' }], maxTokens: 4 };
  assert.equal((await client.generate(request)).attention, 'dense');
  const { attention } = await client.generate({ ...request, attention: 'window:512' });
  assert.equal(attention, 'window:512:64');
  const select = await client.generate({ ...request, attention: 'select' });
  assert.equal(select.attention, 'select:4096:0');
  assert.equal(select.usage.selectedTokens, 0);
});

test('what the daemon refuses is said with code and field', async () => {
  const refused = [
    [{}, 'prompt'],
    [{ prompt: 'x', messages: [{ role: 'user', content: 'x' }] }, 'prompt'],
    [{ prompt: 'x', maxTokens: -1 }, 'max_tokens'],
    [{ prompt: 'x', sampling: { topP: 1.5 } }, 'sampling.top_p'],
    [{ prompt: 'x', sampling: { logitBias: [{ token: 1, bias: 101 }] } },
      'sampling.logit_bias[1]'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    [{ chunks: [{ type: 'CONTEXT' }] }, 'chunks[0]'],
    [{ prompt: 'x', session: 'trip' }, 'session'],
    [{ prompt: 'x', thinkPolicy: 'sometimes' }, 'think_policy'],
    [{ prompt: 'x', attention: 'sparse' }, 'attention'],
  ];
  for (const [request, field] of refused) {
    await assert.rejects(client.generate(request), (error) => {
      assert.ok(error instanceof CascadeError);
      assert.deepEqual([error.code, error.field], ['invalid_argument', field], error.message);
      assert.equal(error.retryable, false);
      return true;
    });
  }
  await assert.rejects(client.generate({ chunks: [chunkReference('chunk_0123456789')] }),
    { code: 'not_found', field: 'chunks[0].id' });
});

test('text of any script is the same when it comes back', async () => {
  const texts = ['Grüße, 世界', '🦜🏳️‍🌈 e\u0301', '\uFEFFbegins with a mark', 'a\0b\u001b[31m',
    '𝔘\u200B', `${'日本語のテキスト。'.repeat(500)}`, '<|im_end|>'];
  for (const text of texts) {
    const { id } = await client.putChunk('CONTEXT', text);
    assert.equal((await client.getChunk(id)).text, text);
  }
  const { tokenIds, id } = await client.putChunk('CONTEXT', texts[0]);
  assert.equal((await client.putChunk({ type: 'CONTEXT', tokenIds })).id, id);
});

test('chunks are listed, found and changed', async () => {
  const { id } = await client.putChunk({ type: 'CONTEXT', text: 'The zanzibar file.', name: 'z',
    priority: 60, ttlMs: 3_600_000 });
  assert.equal((await client.putChunk('CONTEXT', 'The zanzibar file.')).registrations, 2);
  assert.equal((await client.renameChunk(id, 'Äpfel')).name, 'Äpfel');
  assert.equal((await client.touchChunk(id)).hits, 1);
  assert.equal((await client.pinChunk(id)).pinned, true);
  await assert.rejects(client.deleteChunk(id, { all: true }), { code: 'conflict', field: 'id' });
  const unpinned = await client.unpinChunk(id);
  assert.deepEqual([unpinned.pinned, unpinned.gone], [false, false]);
  assert.deepEqual(unpinned.ended.map(({ kind }) => kind), ['pin']);
  const expiring = await client.setChunkTtl(id, 3_153_600_000_000); // 100 years
  assert.equal(expiring.expiresUs, 0); // the names hold it for good
  const { expiresUs } = expiring.holders.find(({ kind }) => kind === 'retention');
  assert.ok(expiresUs > expiring.createdUs + 3e15);
  assert.equal((await client.setChunkTtl(id, 0)).expiresUs, 0);
  assert.equal((await client.setChunkPriority(id, 80)).priority, 80);
  const forAWhile = await client.setChunkPriority(id, 90, 60_000);
  assert.ok(forAWhile.priorityUntilUs > forAWhile.createdUs);
  const both = await client.updateChunk({ id, name: 'published', published: true });
  assert.deepEqual([both.name, both.published], ['published', true]);
  const [hit] = await client.searchChunks('ZANZIBAR', 5);
  assert.equal(hit.id, id);
  assert.equal(hit.type, 'CONTEXT');
  const page = await client.listChunks({ type: 'CONTEXT', limit: 1 });
  assert.equal(page.chunks.length, 1);
  assert.equal(page.tokenCounts.length, 1);
  const all = await client.listAllChunks('CONTEXT');
  assert.ok(all.some(({ chunk }) => chunk.id === id));
  assert.equal((await client.listAllChunks(undefined, 2)).length, 2);
  const { groups, cache, disk } = await client.getChunkStats();
  assert.ok(groups.some(({ type, chunks }) => type === 'CONTEXT' && chunks >= all.length));
  assert.equal(cache.policy, 'hybrid');
  assert.ok(disk.pageBytes > 0);
  const held = await client.deleteChunk(id.slice(0, 16));
  assert.ok(held.holders.length > 0);
  assert.deepEqual(held.ended.map(({ kind, count }) => [kind, count]), [['retention', 1]]);
  assert.equal(held.gone, false);
  assert.equal((await client.deleteChunk(id, { name: 'z' })).holders.length, 2);
  const gone = await client.deleteChunk(id, { all: true });
  assert.deepEqual([gone.holders, gone.ended.length, gone.gone], [[], 2, true]);
});

test('all pages of a list come in order', async () => {
  const ids = [];
  for (let i = 0; i < 5; ++i) ids.unshift((await client.putChunk('QUERY', `Question ${i}?`)).id);
  const seen = [];
  for (let more = true, after; more; after = seen.at(-1)) {
    const page = await client.listChunks({ type: 'QUERY', limit: 2, after });
    seen.push(...page.chunks.map(({ id }) => id));
    more = page.more;
  }
  assert.deepEqual(seen.slice(0, 5), ids);
  const listed = await client.listAllChunks('QUERY');
  assert.deepEqual(listed.map(({ chunk }) => chunk.id), seen);
});

test('a session is kept by name', async () => {
  const turn = (text) => client.generate({ session: 'trip', ...GREEDY,
    chunks: [{ type: 'SYSTEM_PROMPT', text: SYSTEM }, { type: 'QUERY', text }] });
  const first = await turn(FRANCE);
  assert.equal((await turn('What city did we just discuss?')).text, 'We just discussed Paris.');
  const { session, turns } = await client.getSession('trip');
  assert.equal(session.turns, 2);
  assert.deepEqual(turns.map(({ number }) => number), [0, 1]);
  assert.equal(turns[0].outputId, first.outputChunkId);
  assert.deepEqual((await client.listSessions()).map(({ id }) => id), ['trip']);
  await assert.rejects(client.deleteChunk(first.outputChunkId), { code: 'conflict', field: 'id' });
  await client.renameChunk(turns[1].outputId, 'kept');
  const deleted = await client.deleteSession('trip', true);
  assert.equal(deleted.session.id, 'trip');
  assert.deepEqual(deleted.outputs, [{ id: turns[0].outputId, gone: true, heldBy: '' },
    { id: turns[1].outputId, gone: false, heldBy: 'the name "kept"' }]);
  await assert.rejects(client.getSession('trip'), { code: 'not_found', field: 'id' });
  await assert.rejects(client.getChunk(first.outputChunkId), { code: 'not_found' });
});

test('a policy says how long chunks live', async () => {
  assert.deepEqual(await client.expiryPolicies(), []);
  const week = 604_800_000;
  assert.deepEqual(await client.setExpiryPolicy('QUERY', week), [{ type: 'QUERY', ttlMs: week }]);
  assert.ok((await client.putChunk('QUERY', 'How long?')).expiresUs > 0);
  assert.deepEqual(await client.setExpiryPolicy('QUERY', 0), []);
});

test('a prefix is computed ahead and counted by references', async () => {
  const text = 'A long document about nothing in particular. '.repeat(40);
  const chunks = [{ type: 'SYSTEM_PROMPT', text: SYSTEM }, { type: 'CONTEXT', text }];
  const prefix = await client.cachePrefix({ chunks });
  assert.ok(prefix.tokens > 0);
  assert.equal(prefix.references, 1);
  assert.equal((await client.attachPrefix(prefix.id)).references, 2);
  const answer = await client.generate({ ...GREEDY, maxTokens: 4,
    chunks: [...chunks, { type: 'QUERY', text: 'What is it about?' }] });
  assert.ok(answer.usage.reusedTokens >= prefix.tokens);
  assert.equal((await client.releasePrefix(prefix.id)).references, 1);
  assert.equal((await client.releasePrefix(prefix.id)).references, 0);
  await assert.rejects(client.attachPrefix(prefix.id), { code: 'not_found' });
});

test('what is on disk is verified and copied', async () => {
  const checked = await client.fsck();
  assert.deepEqual([checked.findings, checked.left], [[], 0]);
  const copy = join(daemon.folder, 'copy');
  const { pagesBad } = await client.backup(copy, daemon.stateDir);
  assert.equal(pagesBad, 0);
  assert.ok(existsSync(copy));
  await assert.rejects(client.backup(copy), { code: 'conflict' });
  await assert.rejects(client.fsck(false, '/elsewhere'), { code: 'conflict', field: 'state_dir' });
});

test('a batch answers each request for itself', async () => {
  const capitals = [['France', 'Paris'], ['Italy', 'Rome'], ['Spain', 'Madrid']];
  const requests = capitals.map(([country]) => ({ ...GREEDY,
    messages: [{ role: 'user', content: `What is the capital of ${country}?` }] }));
  requests.splice(1, 0, { prompt: '' });
  const told = new Set();
  const results = await client.generateBatch(requests, { onEvent: (i) => void told.add(i) });
  assert.equal(results.length, 4);
  const [bad] = results.splice(1, 1);
  assert.ok(bad instanceof CascadeError);
  assert.equal(bad.field, 'prompt');
  results.forEach(({ text }, i) => assert.match(text, new RegExp(capitals[i][1])));
  assert.deepEqual([...told].toSorted(), [0, 2, 3]);
  await assert.rejects(client.generateBatch(Array(257).fill({ prompt: 'x' })),
    { code: 'invalid_argument', field: 'requests' });
});

test('two hundred calls at once are all answered', async () => {
  const texts = Array.from({ length: 20 }, (_, i) => `Asked for by many, number ${i}.`);
  const ids = [];
  for (const text of texts) ids.push(await client.registerChunk(text, 'CONTEXT'));
  const calls = Array.from({ length: 200 }, (_, i) => client.getChunk(ids[i % ids.length]));
  const chunks = await Promise.all(calls);
  assert.deepEqual(chunks.map(({ text }) => text),
    chunks.map((_, i) => texts[i % texts.length]));
});

test('what the daemon has no room for now may be tried again', async () => {
  const texts = Array.from({ length: 300 }, (_, i) => `Text number ${i}.`);
  const settled = await Promise.allSettled(texts.map((text) => client.putChunk('CONTEXT', text)));
  for (const [i, { value, reason }] of settled.entries()) {
    if (reason !== undefined) {
      assert.deepEqual([reason.code, reason.retryable], ['resource_exhausted', true], reason.stack);
      assert.ok(reason.retryAfterMs > 0);
    }
    const chunk = value ?? await client.putChunk('CONTEXT', texts[i]);
    assert.equal(chunk.text, texts[i]);
  }
});

test('models are listed, and named by the options of a client', async () => {
  const { models, modelsDir, totalBytes, totalBytesMax } = await client.listModels();
  assert.deepEqual(models.map(({ name, state }) => [name, state]), [['demo', 'loaded']]);
  assert.equal(models[0].default, true);
  assert.equal(modelsDir, '');
  assert.equal(totalBytesMax, 0);
  assert.equal((await client.estimateModel('demo')).totalBytes, totalBytes);
  assert.equal((await client.loadModel('demo')).state, 'loaded');
  await assert.rejects(client.unloadModel('demo'), { code: 'conflict', field: 'name' });
  const named = await connect({ runDir: daemon.runDir, model: 'demo' });
  const request = { prompt: 'One, two,', maxTokens: 4, ...GREEDY };
  assert.deepEqual((await named.generate(request)).tokenIds,
    (await client.generate(request)).tokenIds);
  await named.close();
  const unknown = await connect({ runDir: daemon.runDir, model: 'third' });
  await assert.rejects(unknown.generate(request), { code: 'not_found', field: 'model' });
  await assert.rejects(unknown.stream(request).result(), { code: 'not_found', field: 'model' });
  await assert.rejects(unknown.status(), { code: 'not_found', field: 'model' });
  await unknown.close();
});
