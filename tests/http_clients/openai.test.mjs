// npm openai, unmodified: only its baseURL is ours.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { answer, capital, startDaemon, weatherTool } from "./daemon.mjs";

let daemon, client;
before(async () => {
  daemon = await startDaemon();
  client = new OpenAI({ baseURL: daemon.baseURL, apiKey: "none", maxRetries: 0 });
});
after(() => daemon.stop());

const chat = (more) => ({
  model: "demo", messages: [{ role: "user", content: capital }], temperature: 0, max_tokens: 40,
  ...more,
});

test("models", async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.deepEqual(ids, ["demo"]);
  assert.equal((await client.models.retrieve("demo")).object, "model");
});

test("chat", async () => {
  const reply = await client.chat.completions.create(chat());
  assert.equal(reply.choices[0].message.content, answer);
  assert.equal(reply.choices[0].finish_reason, "stop");
  assert.ok(reply._request_id.startsWith("req_"));
});

test("stream, with usage", async () => {
  const stream = await client.chat.completions.create(
    chat({ stream: true, stream_options: { include_usage: true } }));
  let text = "", usage;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, answer);
  assert.ok(usage.prompt_tokens_details.cached_tokens > 0);
});

test("stream helper", async () => {
  const runner = client.chat.completions.stream(chat());
  assert.equal(await runner.finalContent(), answer);
});

test("logprobs", async () => {
  const reply = await client.chat.completions.create(chat({ logprobs: true, top_logprobs: 1 }));
  const tokens = reply.choices[0].logprobs.content;
  assert.equal(tokens.map((t) => t.token).join(""), answer);
});

test("thoughts have a name of their own", async () => {
  const reply = await client.chat.completions.create(
    chat({ messages: [{ role: "user", content: "Calculate 9 + 6." }], max_tokens: 200 }));
  const message = reply.choices[0].message;
  assert.ok(!message.content.includes("<think>"));
  assert.equal(message.reasoning_content, message.reasoning);
  const tokens = reply.usage.completion_tokens_details.reasoning_tokens;
  assert.equal(tokens > 0, Boolean(message.reasoning));
});

test("tools go in, calls and results too", async () => {
  const reply = await client.chat.completions.create(chat({
    tools: [{ type: "function", function: weatherTool }], tool_choice: "auto",
    messages: [
      { role: "user", content: "Weather in Rome?" },
      { role: "assistant", content: null, tool_calls: [{
        id: "call_1", type: "function",
        function: { name: "weather", arguments: '{"city":"Rome"}' },
      }] },
      { role: "tool", tool_call_id: "call_1", content: "sunny" },
    ],
  }));
  assert.equal(typeof reply.choices[0].message.content, "string");
});

test("a schema is kept", async () => {
  const schema = {
    type: "object", required: ["city"], additionalProperties: false,
    properties: { city: { enum: ["Paris", "Rome"] } },
  };
  const format = { type: "json_schema", json_schema: { name: "place", strict: true, schema } };
  const reply = await client.chat.completions.parse(
    chat({ response_format: format, max_tokens: 300 }));
  assert.ok(["Paris", "Rome"].includes(reply.choices[0].message.parsed.city));
  const response = await client.responses.create({
    model: "demo", input: capital, max_output_tokens: 300,
    text: { format: { type: "json_schema", name: "place", schema } },
  });
  assert.ok(["Paris", "Rome"].includes(JSON.parse(response.output_text).city));
});

test("a demanded tool is called", async () => {
  for (const tool_choice of ["required", { type: "function", function: { name: "weather" } }]) {
    const reply = await client.chat.completions.create(chat({
      tools: [{ type: "function", function: weatherTool }], tool_choice, max_tokens: 300,
      parallel_tool_calls: false,
    }));
    assert.equal(reply.choices[0].finish_reason, "tool_calls");
    const call = reply.choices[0].message.tool_calls[0];
    assert.equal(call.function.name, "weather");
    assert.equal(typeof JSON.parse(call.function.arguments).city, "string");
  }
});

test("errors have their classes, codes and params", async () => {
  await assert.rejects(client.chat.completions.create(chat({ model: "gpt-4o" })), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, "model_not_found");
    return true;
  });
  await assert.rejects(client.chat.completions.create(chat({ n: 9 })), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.deepEqual([error.code, error.param], ["invalid_argument", "n"]);
    assert.equal(error.type, "invalid_request_error");
    return true;
  });
  await assert.rejects(
    client.embeddings.create({ model: "demo", input: "x" }), OpenAI.InternalServerError);
});

test("an error in a stream is thrown", async () => {
  const late = (error) => error.code === "deadline_exceeded";
  // How soon the first text comes depends on the machine: before it there is no stream.
  for (const timeout_ms of [300, 1_000, 3_000, 9_000]) {
    const asked = client.chat.completions.create(
      chat({ stream: true, max_tokens: 16_000, ignore_eos: true, timeout_ms }));
    const stream = await asked.catch((error) => assert.ok(late(error), error));
    if (stream === undefined) continue;
    await assert.rejects(async () => {
      for await (const _ of stream);
    }, late);
    return;
  }
  assert.fail("no stream began in time");
});

test("abort cancels", async () => {
  for (const stream of [true, false]) {
    const controller = new AbortController();
    const running = client.chat.completions.create(
      chat({ stream, max_tokens: 16_000, ignore_eos: true }), { signal: controller.signal });
    if (stream) await running;
    assert.ok(await daemon.settles("cascaded_requests_running", 1));
    controller.abort();
    if (!stream) await assert.rejects(running, OpenAI.APIUserAbortError);
    assert.ok(await daemon.settles("cascaded_requests_running", 0));
  }
});

test("completions", async () => {
  const reply = await client.completions.create(
    { model: "demo", prompt: "The capital of France is", max_tokens: 4, temperature: 0 });
  assert.equal(reply.object, "text_completion");
  assert.ok(reply.choices[0].text.length > 0);
});

test("completions: lists, token ids, echo", async () => {
  const prompt = ["The capital of France is", [1, 2, 3]];
  const reply = await client.completions.create(
    { model: "demo", prompt, n: 2, echo: true, max_tokens: 4, temperature: 0 });
  assert.deepEqual(reply.choices.map((choice) => choice.index), [0, 1, 2, 3]);
  assert.ok(reply.choices[1].text.startsWith(prompt[0]));
});

test("several answers, whole and streamed", async () => {
  // Ten tokens of thoughts would leave no text.
  const asked = chat(
    { n: 3, temperature: 1, seed: 5, max_tokens: 10, reasoning_effort: "none" });
  const reply = await client.chat.completions.create(asked);
  const texts = reply.choices.map((choice) => choice.message.content);
  assert.equal(texts.length, 3);
  const runner = client.chat.completions.stream(asked);
  const whole = await runner.finalChatCompletion();
  assert.deepEqual(whole.choices.map((choice) => choice.message.content), texts);
});

test("an answer goes on with the assistant's message", async () => {
  const reply = await client.chat.completions.create(chat({ messages: [
    { role: "user", content: capital },
    { role: "assistant", content: "The capital of France" }] }));
  assert.equal("The capital of France" + reply.choices[0].message.content, answer);
});

test("an overflow is known by its code", async () => {
  const long = "word ".repeat(20_000);
  const known = (param) => (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.deepEqual([error.code, error.param], ["context_length_exceeded", param]);
    return /maximum context length is 16384 tokens/.test(error.message);
  };
  for (const stream of [false, true]) {
    await assert.rejects(client.chat.completions.create(
      chat({ messages: [{ role: "user", content: long }], stream })), known("messages"));
    await assert.rejects(client.responses.create(ask(long, { store: false, stream })),
      known("input"));
  }
});

test("tools of other types are named", async () => {
  const tools = [{ type: "web_search" }, { type: "namespace", name: "files", tools: [] }];
  const { data, response } = await client.responses.create(ask(capital, { tools })).withResponse();
  assert.equal(data.output_text, answer);
  assert.deepEqual(data.ignored_tools, [
    { type: "web_search" }, { type: "namespace", name: "files" }]);
  assert.equal(response.headers.get("x-cascade-ignored-tools"), "web_search, namespace files");
  await assert.rejects(client.responses.create(ask(capital, { tools, tool_choice: "required" })),
    (error) => error.param === "tool_choice");
});

test("responses: an item by its id", async () => {
  const first = await client.responses.create(ask(capital));
  const input = (item) => [
    { role: "user", content: capital }, item,
    { role: "user", content: "What city did we just discuss?" }];
  const byId = await client.responses.create(
    ask(input({ type: "item_reference", id: first.output[0].id })));
  const whole = await client.responses.create(ask(input({ role: "assistant", content: answer })));
  assert.equal(byId.output_text, whole.output_text);
  await assert.rejects(
    client.responses.create(ask(input({ type: "item_reference", id: "msg_0_1" }))),
    (error) => error.status === 404 && error.param === "input[1].id");
});

test("responses: items that are referred to take no more than a body may", async () => {
  const first = await client.responses.create(ask(capital));
  const item = { type: "item_reference", id: first.output[0].id };
  await assert.rejects(client.responses.create(ask(new Array(120_000).fill(item))),
    (error) => error.status === 400 && /^input\[\d+\]\.id$/.test(error.param)
      && error.message.includes("16777216 bytes"));
});

const ask = (input, more) => (
  { model: "demo", input, temperature: 0, max_output_tokens: 60, ...more });

test("responses: three turns, read back, deleted", async () => {
  const first = await client.responses.create(ask(capital, { metadata: { a: "b" } }));
  assert.equal(first.output_text, answer);
  const second = await client.responses.create(
    ask("What city did we just discuss?", { previous_response_id: first.id }));
  const third = await client.responses.create(
    ask("Please repeat your last answer.", { previous_response_id: second.id }));
  const cached = (reply) => reply.usage.input_tokens_details.cached_tokens;
  assert.ok(cached(third) > cached(second));
  const again = await client.responses.retrieve(first.id);
  assert.equal(again.output_text, answer);
  assert.deepEqual(again.metadata, { a: "b" });
  const items = [];
  for await (const item of client.responses.inputItems.list(second.id)) items.push(item);
  assert.equal(items[0].content[0].text, "What city did we just discuss?");
  await client.responses.delete(first.id);
  await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
});

test("responses: streamed", async () => {
  const stream = await client.responses.create(ask(capital, { stream: true }));
  const types = [];
  let text = "";
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  assert.equal(text, answer);
  assert.equal(types.at(-1), "response.completed");
  const helper = client.responses.stream(ask(capital));
  assert.equal((await helper.finalResponse()).output_text, answer);
});

test("responses: tools go in, calls and results too", async () => {
  const reply = await client.responses.create(ask([
    { role: "user", content: "Weather in Rome?" },
    { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Rome"}' },
    { type: "function_call_output", call_id: "call_1", output: "sunny" },
  ], { tools: [{ type: "function", strict: false, ...weatherTool }] }));
  assert.equal(reply.status === "completed" || reply.status === "incomplete", true);
});
