// llamaindex with @llamaindex/openai, unmodified.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { OpenAI, OpenAIResponses } from "@llamaindex/openai";
import { SimpleChatEngine, tool } from "llamaindex";
import { answer, capital, startDaemon, weatherTool } from "./daemon.mjs";

let daemon, options;
before(async () => {
  daemon = await startDaemon();
  options = {
    model: "demo", apiKey: "none", baseURL: daemon.baseURL, maxRetries: 0, temperature: 0,
  };
});
after(() => daemon.stop());

const question = { role: "user", content: capital };
const model = (more) => new OpenAI({ ...options, maxTokens: 40, ...more });
const weather = (calls) => tool({
  ...weatherTool, execute: (input) => { calls.push(input); return "sunny"; },
});
const demanded = { additionalChatOptions: { tool_choice: "required", parallel_tool_calls: false } };

test("chat, and what a second request finds", async () => {
  const reply = await model().chat({ messages: [question] });
  assert.equal(reply.message.content, answer);
  const { usage } = (await model().chat({ messages: [question] })).raw;
  assert.equal(usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens - 1);
});

test("chat, streamed", async () => {
  let text = "";
  for await (const part of await model().chat({ messages: [question], stream: true })) {
    text += part.delta;
  }
  assert.equal(text, answer);
});

test("complete", async () => {
  assert.equal((await model().complete({ prompt: capital })).text, answer);
});

test("a chat engine: two turns", async () => {
  const engine = new SimpleChatEngine({ llm: model() });
  assert.equal((await engine.chat({ message: capital })).message.content, answer);
  let text = "";
  const stream = await engine.chat({ message: "What city did we just discuss?", stream: true });
  for await (const part of stream) text += part.delta;
  assert.match(text, /Paris/);
});

test("structured output", async () => {
  const schema = {
    type: "object", required: ["city"], additionalProperties: false,
    properties: { city: { enum: ["Paris", "Rome"] } },
  };
  const reply = await model({ maxTokens: 300 }).chat({
    messages: [question],
    responseFormat: { type: "json_schema", json_schema: { name: "place", schema } },
  });
  assert.ok(["Paris", "Rome"].includes(JSON.parse(reply.message.content).city));
});

test("a demanded tool is called, and its result goes back", async () => {
  const calls = [];
  const llm = model({ maxTokens: 300 });
  const first = await llm.exec({ messages: [question], tools: [weather(calls)], ...demanded });
  assert.equal(typeof calls[0].city, "string");
  assert.equal(first.toolCalls[0].name, "weather");
  const reply = await llm.chat({ messages: [question, ...first.newMessages] });
  assert.ok(reply.message.content.length > 0);
});

test("a demanded tool is called in a stream", async () => {
  const calls = [];
  const { stream, newMessages, toolCalls } = await model({ maxTokens: 300 }).exec(
    { messages: [question], tools: [weather(calls)], stream: true, ...demanded });
  for await (const _ of stream);
  assert.equal(toolCalls[0].name, "weather");
  assert.equal(typeof calls[0].city, "string");
  assert.equal(newMessages().length, 2);
});

test("responses, whole and streamed", async () => {
  const llm = new OpenAIResponses({ ...options, maxOutputTokens: 40 });
  const reply = await llm.chat({ messages: [question] });
  assert.equal(reply.message.content, answer);
  // It tells the latest piece again with each event behind it: its events are read here.
  let text = "";
  for await (const { raw } of await llm.chat({ messages: [question], stream: true })) {
    if (raw.type === "response.output_text.delta") text += raw.delta;
  }
  assert.equal(text, answer);
});

test("errors are thrown", async () => {
  await assert.rejects(model({ model: "gpt-4o" }).chat({ messages: [question] }), (error) => {
    assert.equal(error.status, 404);
    assert.equal(error.code, "model_not_found");
    return true;
  });
});
