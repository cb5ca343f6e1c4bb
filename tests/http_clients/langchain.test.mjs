// @langchain/openai, unmodified.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { answer, capital, startDaemon, weatherTool } from "./daemon.mjs";

let daemon, model;
before(async () => {
  daemon = await startDaemon();
  model = new ChatOpenAI({
    model: "demo", apiKey: "none", temperature: 0, maxTokens: 40, maxRetries: 0,
    configuration: { baseURL: daemon.baseURL },
  });
});
after(() => daemon.stop());

test("invoke", async () => {
  const reply = await model.invoke(capital);
  assert.equal(reply.content, answer);
  assert.equal(reply.response_metadata.finish_reason, "stop");
  const again = await model.invoke(capital);
  const usage = again.usage_metadata;
  assert.equal(usage.input_token_details.cache_read, usage.input_tokens - 1);
});

test("stream", async () => {
  let text = "", usage;
  for await (const chunk of await model.stream(capital)) {
    text += chunk.content;
    usage = chunk.usage_metadata ?? usage;
  }
  assert.equal(text, answer);
  assert.ok(usage.output_tokens > 0);
});

test("a conversation", async () => {
  const reply = await model.invoke([
    new SystemMessage("You are a helpful assistant."), new HumanMessage(capital),
    new AIMessage(answer), new HumanMessage("What city did we just discuss?")]);
  assert.ok(reply.content.length > 0);
});

test("tools are bound", async () => {
  const bound = model.bindTools([{ type: "function", function: weatherTool }]);
  const reply = await bound.invoke(capital);
  assert.deepEqual(reply.tool_calls, []);
});

test("structured output", async () => {
  const patient = new ChatOpenAI({
    model: "demo", apiKey: "none", temperature: 0, maxTokens: 300, maxRetries: 0,
    configuration: { baseURL: daemon.baseURL },
  });
  const schema = {
    title: "place", type: "object", required: ["city"], additionalProperties: false,
    properties: { city: { enum: ["Paris", "Rome"] } },
  };
  for (const method of ["jsonSchema", "functionCalling"]) {
    const structured = patient.withStructuredOutput(schema, { name: "place", method });
    const found = await structured.invoke(capital);
    assert.ok(["Paris", "Rome"].includes(found.city), method);
  }
});

test("responses", async () => {
  const reply = await new ChatOpenAI({
    model: "demo", apiKey: "none", temperature: 0, maxTokens: 40, maxRetries: 0,
    useResponsesApi: true, configuration: { baseURL: daemon.baseURL },
  }).invoke(capital);
  assert.equal(reply.text, answer);
});
