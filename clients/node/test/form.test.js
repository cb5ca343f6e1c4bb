// Grammars, tokens, prompts and tools: what is sent, and what a real daemon answers.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { connect } from '../src/index.js';
import { decode, encode } from '../src/frames.js';
import {
  Daemon, FalseDaemon, TIMEOUT_MS, daemonForAll, random, repository, temporaryFolder,
} from './support.js';

const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 20 },
    age: { type: 'integer', minimum: 0, maximum: 120 },
    kind: { enum: ['Freund', 'Feind – ß', null] },
    notes: { type: 'array', items: { type: 'boolean' }, maxItems: 2 },
  },
  required: ['name', 'age', 'kind', 'notes'],
  additionalProperties: false,
};
const WEATHER = { type: 'function', function: { name: 'weather',
  parameters: { type: 'object', properties: { city_name: { type: 'string' } } } } };
const CALL = { id: 'call_1', function: { name: 'weather', arguments: { city_name: 'Köln' } } };
// The demo model's own template knows of no tools.
const TEMPLATE = `{% set nl = '\\n' %}\
{% for tool in tools or [] %}[{{ tool.function.name }}\
{% for name in tool.function.parameters.properties %} {{ name }}{% endfor %}]{% endfor %}\
{% for message in messages %}<|im_start|>{{ message.role }}\
{% if message.tool_call_id %} {{ message.tool_call_id }} {{ message.name }}{% endif %}{{ nl }}\
{{ message.content }}{% for call in message.tool_calls or [] %}\
<{{ call.id }} {{ call.function.name }} {{ call.function.arguments.city_name }}>{% endfor %}\
<|im_end|>{{ nl }}{% endfor %}<|im_start|>assistant{{ nl }}`;

const conversation = (toolCalls) => [
  { role: 'user', content: 'Weather in Köln?' },
  { role: 'assistant', content: '', toolCalls },
  { role: 'tool', content: 'rain', toolCallId: 'call_1', name: 'weather' },
];

let daemon;
let client;
let end;
before(async () => {
  ({ daemon, client, end } = await daemonForAll());
});
after(() => end?.());

// A request as the daemon reads it.
const sent = (request) => decode(encode('GenerateRequest', request, new Uint8Array(16))).message;

test('schemas, tools and calls travel as JSON text, their keys as they are', () => {
  const schema = { type: 'object', properties: { z_z: { const: 'ß' }, a: true } };
  assert.deepEqual(sent({ grammar: { kind: 'json_schema', schema } }).grammar, {
    kind: 'json_schema',
    schema: '{"type":"object","properties":{"z_z":{"const":"ß"},"a":true}}',
  });
  assert.equal(sent({ grammar: { kind: 'json_schema', schema: {} } }).grammar.schema, '{}');
  assert.equal(sent({ grammar: { kind: 'json_schema', schema: true } }).grammar.schema, 'true');
  assert.equal(sent({ grammar: { kind: 'parts', schema: ' {} ' } }).grammar.schema, ' {} ');
  assert.deepEqual(sent({ grammar: { kind: 'json_object' } }).grammar,
    { kind: 'json_object', schema: '' });
  const { tools, messages } = sent({ tools: [WEATHER], messages: conversation([CALL]) });
  assert.equal(tools, JSON.stringify([WEATHER]));
  assert.equal(messages[1].toolCalls, JSON.stringify([CALL]));
  assert.deepEqual([messages[2].toolCallId, messages[2].name], ['call_1', 'weather']);
  assert.equal(sent({ tools: [] }).tools, '');
});

test('what cannot be JSON is named', () => {
  const circle = {};
  circle.not = circle;
  const nothing = { toJSON: () => undefined, length: 0 };
  for (const schema of [circle, { const: 5n }, () => 5, nothing, Symbol('x')]) {
    assert.throws(() => sent({ grammar: { kind: 'json_schema', schema } }), {
      code: 'invalid_argument', field: 'grammar.schema', message: /^cannot be written as JSON/ });
  }
  assert.throws(() => sent({ messages: conversation(circle) }),
    { field: 'messages[1].tool_calls' });
  assert.throws(() => sent({ grammar: { schema: {} } }), { field: 'grammar.kind' });
  assert.throws(() => sent({ grammar: { kind: 'json_schema', json_schema: {} } }),
    { field: 'grammar.json_schema' });
});

test('each call sends what it was given and returns the answer', async (t) => {
  const replies = {
    TokenizeRequest: ['TokenizeReply', { tokenIds: [5, 6] }],
    DetokenizeRequest: ['DetokenizeReply', { text: 'ab', pieces: ['a', 'b'] }],
    ApplyTemplateRequest: ['ApplyTemplateReply', { prompt: 'user: x', tokenIds: [7] }],
  };
  const fake = await FalseDaemon.start(t, ({ name, reply }) => reply(...replies[name]));
  const caller = await connect(fake.endpoint);
  t.after(() => caller.close());
  const told = async (name) => (await fake.request(name)).message;
  assert.deepEqual(await caller.tokenize('ab', { beginning: true }), Int32Array.of(5, 6));
  assert.deepEqual(await told('TokenizeRequest'), { text: 'ab', beginning: true });
  assert.deepEqual(await caller.detokenize([5, 6], { skipSpecial: true, pieces: true }),
    { text: 'ab', pieces: ['a', 'b'], pieceBytes: [] });
  assert.deepEqual(await told('DetokenizeRequest'),
    { tokenIds: Int32Array.of(5, 6), skipSpecial: true, pieces: true });
  const messages = [{ role: 'user', content: 'x' }];
  const options = { thinking: false, reasoningEffort: 'low', tools: [WEATHER] };
  assert.deepEqual(await caller.applyTemplate(messages, options),
    { prompt: 'user: x', tokenIds: Int32Array.of(7) });
  const asked = await told('ApplyTemplateRequest');
  assert.equal(asked.messages[0].content, 'x');
  assert.deepEqual([asked.thinking, asked.reasoningEffort, asked.tools],
    [false, 'low', JSON.stringify([WEATHER])]);
  await assert.rejects(caller.tokenize('x', { start: true }),
    { code: 'invalid_argument', field: 'start' });
});

function assertPerson(text) {
  const person = JSON.parse(text);
  assert.deepEqual(Object.keys(person), PERSON.required, text);
  assert.equal(typeof person.name, 'string', text);
  const { length } = [...person.name];
  assert.ok(length >= 1 && length <= 20, text);
  assert.ok(Number.isInteger(person.age) && person.age >= 0 && person.age <= 120, text);
  assert.ok(PERSON.properties.kind.enum.includes(person.kind), text);
  assert.ok(person.notes.length <= 2, text);
  for (const note of person.notes) assert.equal(typeof note, 'boolean', text);
}

test('answers that end are documents for which the schema holds', async (t) => {
  const first = random(t)(2 ** 30);
  const answers = await client.generateBatch(Array.from({ length: 20 }, (_, i) => ({
    messages: [{ role: 'user', content: `Describe person number ${i}.` }],
    grammar: { kind: 'json_schema', schema: PERSON },
    thinking: i % 2 === 0 ? false : undefined,
    maxTokens: 400,
    sampling: { temperature: 1.5, topP: 1, topK: 0, seed: first + i },
  })));
  const ended = answers.filter((answer) => {
    assert.ok(!(answer instanceof Error), String(answer));
    return answer.finishReason === 'stop';
  });
  for (const { text } of ended) assertPerson(text);
  assert.ok(ended.length > 0);
});

test('the other kinds of grammars', async () => {
  const schema = { sequence: [{ text: 'Paris is in ' },
    { any_of: [{ text: 'France' }, { text: 'Italy' }] }, { text: '!' }] };
  // With chance a model may think without end.
  const sampling = { temperature: 0 };
  const parts = await client.generate(
    { prompt: 'Paris?', grammar: { kind: 'parts', schema }, sampling });
  assert.match(parts.text, /^Paris is in (France|Italy)!$/);
  const object = await client.generate(
    { prompt: 'x', grammar: { kind: 'json_object' }, maxTokens: 3, sampling });
  assert.match(object.text, /^\{/);
});

test('the daemon names the place that it does not support', async () => {
  const bad = [
    [{ kind: 'json_schema', schema: { items: { uniqueItems: true } } }, 'grammar.schema',
      /#\/items: uniqueItems/],
    [{ kind: 'json_schema', schema: '{' }, 'grammar.schema', /not valid JSON/],
    [{ kind: 'json_object', schema: {} }, 'grammar.schema', /must be empty/],
    [{ kind: 'yaml' }, 'grammar.kind', /./],
  ];
  for (const [grammar, field, message] of bad) {
    await assert.rejects(client.generate({ prompt: 'x', grammar }),
      { code: 'invalid_argument', field, message });
  }
});

test('a text is the same when it comes back', async (t) => {
  const draw = random(t);
  const alphabet = [...'ab Zß世🙂\u0301\u202e\0\n\t<|im_end|>'];
  for (let round = 0; round < 50; ++round) {
    const drawn = Array.from({ length: 1 + draw(60) }, () => alphabet[draw(alphabet.length)]);
    const text = drawn.join('').normalize('NFC'); // as this model's tokenizer does
    const ids = await client.tokenize(text);
    assert.deepEqual(await client.detokenize(ids), { text, pieces: [], pieceBytes: [] });
  }
  const ids = await client.tokenize('The capital of 世');
  const { pieces, pieceBytes } = await client.detokenize(ids, { pieces: true, pieceBytes: true });
  assert.equal(Buffer.concat(pieceBytes).toString(), 'The capital of 世');
  assert.equal(pieces.length, ids.length);
  assert.ok(pieces.join('').startsWith('The capital of '));
  assert.ok(pieces.join('').includes('\uFFFD'));
});

test('a conversation makes the prompt that is generated from', async () => {
  const messages = [{ role: 'user', content: 'What is the capital of France?' }];
  const { prompt, tokenIds } = await client.applyTemplate(messages);
  assert.equal(prompt, '<|im_start|>user\nWhat is the capital of France?<|im_end|>\n' +
    '<|im_start|>assistant\n');
  assert.equal((await client.detokenize(tokenIds)).text, prompt);
  const { usage } = await client.generate({ messages, maxTokens: 1 });
  assert.equal(usage.promptTokens, tokenIds.length);
  assert.equal((await client.applyTemplate(messages, { thinking: false })).prompt,
    `${prompt}<think>\n\n</think>\n\n`);
  const bare = await client.detokenize(tokenIds, { skipSpecial: true });
  assert.ok(!bare.text.includes('<|im_start|>'));
  const raw = await client.generate({ prompt: 'The capital', maxTokens: 1 });
  assert.equal(raw.usage.promptTokens,
    (await client.tokenize('The capital', { beginning: true })).length);
});

test('bad texts, ids and tools are named', async () => {
  const user = [{ role: 'user', content: 'x' }];
  const bad = [
    [() => client.tokenize(''), 'text'],
    [() => client.detokenize([2 ** 30]), 'token_ids[0]'],
    [() => client.applyTemplate([]), 'messages'],
    [() => client.applyTemplate(user, { tools: '{}' }), 'tools'],
    [() => client.applyTemplate(user, { tools: [1] }), 'tools'],
    [() => client.applyTemplate(conversation('{')), 'messages[1].tool_calls'],
    [() => client.generate({ prompt: 'x', tools: [WEATHER] }), 'tools'],
  ];
  for (const [call, field] of bad) {
    await assert.rejects(call(), { code: 'invalid_argument', field });
  }
});

test('an output has the id that was announced', async () => {
  const told = [];
  const request = { prompt: 'The', maxTokens: 9, retainOutput: true, sampling: { temperature: 1 } };
  const { outputChunkId } = await client.generate(request,
    { onEvent: (event) => void told.push(event) });
  assert.match(outputChunkId, /^output_/);
  assert.equal(told[0].outputId, outputChunkId);
});

test('tools, calls and results reach the template', async (t) => {
  const model = temporaryFolder(t);
  const demo = join(repository, 'models/demo');
  const config = 'tokenizer_config.json';
  for (const file of readdirSync(demo)) {
    if (file !== config) symlinkSync(join(demo, file), join(model, file));
  }
  const changed = { ...JSON.parse(readFileSync(join(demo, config))), chat_template: TEMPLATE };
  writeFileSync(join(model, config), JSON.stringify(changed));
  const other = await Daemon.start(t, temporaryFolder(t), [], model);
  const caller = await connect({ runDir: other.runDir, timeoutMs: TIMEOUT_MS });
  t.after(() => caller.close());
  const expected = '[weather city_name]<|im_start|>user\nWeather in Köln?<|im_end|>\n' +
    '<|im_start|>assistant\n<call_1 weather Köln><|im_end|>\n' +
    '<|im_start|>tool call_1 weather\nrain<|im_end|>\n<|im_start|>assistant\n';
  const asText = { ...CALL, function: { name: 'weather', arguments: '{"city_name": "Köln"}' } };
  for (const calls of [[CALL], [asText], JSON.stringify([asText])]) {
    const messages = conversation(calls);
    const { prompt, tokenIds } = await caller.applyTemplate(messages, { tools: [WEATHER] });
    assert.equal(prompt, expected);
    const { usage } = await caller.generate({ messages, tools: [WEATHER], maxTokens: 1 });
    assert.equal(usage.promptTokens, tokenIds.length);
  }
  assert.equal((await caller.applyTemplate(conversation([CALL]))).prompt,
    expected.replace('[weather city_name]', ''));
});
