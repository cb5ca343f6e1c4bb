// ai and @ai-sdk/openai-compatible, unmodified.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, jsonSchema, streamText, tool } from "ai";
import { answer, capital, startDaemon, weatherTool } from "./daemon.mjs";

let daemon, model;
before(async () => {
  daemon = await startDaemon();
  const provider = createOpenAICompatible({
    name: "cascade", baseURL: daemon.baseURL, includeUsage: true, supportsStructuredOutputs: true,
  });
  model = provider("demo");
});
after(() => daemon.stop());

const ask = (more) => (
  { model, prompt: capital, temperature: 0, maxOutputTokens: 40, maxRetries: 0, ...more });

test("generateText", async () => {
  const result = await generateText(ask());
  assert.equal(result.text, answer);
  assert.equal(result.finishReason, "stop");
  const again = await generateText(ask());
  assert.equal(again.usage.cachedInputTokens, again.usage.inputTokens - 1);
});

test("streamText", async () => {
  const result = streamText(ask());
  let text = "";
  for await (const piece of result.textStream) text += piece;
  assert.equal(text, answer);
  assert.equal(await result.finishReason, "stop");
  assert.ok((await result.usage).outputTokens > 0);
});

test("thoughts are reasoning parts", async () => {
  const result = await generateText(ask({ prompt: "Calculate 9 + 6.", maxOutputTokens: 200 }));
  assert.ok(!result.text.includes("<think>"));
  const tokens = result.usage.reasoningTokens ?? 0;
  assert.equal(tokens > 0, (result.reasoningText ?? "").length > 0);
});

test("tools go in", async () => {
  const tools = {
    weather: tool({
      description: weatherTool.description, inputSchema: jsonSchema(weatherTool.parameters),
    }),
  };
  const result = await generateText(ask({ tools }));
  assert.equal(typeof result.text, "string");
});

test("generateObject", async () => {
  const schema = jsonSchema({
    type: "object", required: ["city"], additionalProperties: false,
    properties: { city: { enum: ["Paris", "Rome"] } },
  });
  const { object } = await generateObject(ask({ schema, maxOutputTokens: 300 }));
  assert.ok(["Paris", "Rome"].includes(object.city));
});

test("a demanded tool is called", async () => {
  const calls = [];
  const tools = {
    weather: tool({
      description: weatherTool.description, inputSchema: jsonSchema(weatherTool.parameters),
      execute: async (input) => { calls.push(input); return "sunny"; },
    }),
  };
  await generateText(ask({ tools, toolChoice: "required", maxOutputTokens: 300 }));
  assert.ok(calls.length > 0);
  assert.equal(typeof calls[0].city, "string");
});

test("an error in a stream is told", async () => {
  const errors = [];
  const result = streamText(ask({
    maxOutputTokens: 10_000, onError: ({ error }) => errors.push(error),
    providerOptions: { cascade: { ignore_eos: true, timeout_ms: 700 } },
  }));
  for await (const _ of result.textStream);
  assert.equal(errors.length, 1);
});

test("abort cancels", async () => {
  const controller = new AbortController();
  const result = streamText(ask({
    maxOutputTokens: 16_000, abortSignal: controller.signal,
    providerOptions: { cascade: { ignore_eos: true } },
  }));
  const reading = (async () => {
    for await (const _ of result.textStream);
  })().catch(() => {});
  assert.ok(await daemon.settles("cascaded_requests_running", 1));
  controller.abort();
  await reading;
  assert.ok(await daemon.settles("cascaded_requests_running", 0));
});
