// ai with @ai-sdk/openai, unmodified: its models speak the Responses API, unless chat is asked for.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { answer, capital, startDaemon, weatherTool } from "./daemon.mjs";

let daemon, provider, models;
before(async () => {
  daemon = await startDaemon();
  provider = createOpenAI({ baseURL: daemon.baseURL, apiKey: "none" });
  models = { responses: provider("demo"), chat: provider.chat("demo") };
});
after(() => daemon.stop());

// `api`: "responses" or "chat".
const ask = (api, more) => (
  { model: models[api], prompt: capital, temperature: 0, maxOutputTokens: 40, maxRetries: 0,
    ...more });
const place = jsonSchema({
  type: "object", required: ["city"], additionalProperties: false,
  properties: { city: { enum: ["Paris", "Rome"] } },
});

for (const api of ["responses", "chat"]) {
  test(`${api}: generateText, and what a second request finds`, async () => {
    const result = await generateText(ask(api));
    assert.equal(result.text, answer);
    assert.equal(result.finishReason, "stop");
    assert.deepEqual(result.warnings, []);
    const again = await generateText(ask(api));
    assert.equal(again.usage.cachedInputTokens, again.usage.inputTokens - 1);
  });

  test(`${api}: streamText`, async () => {
    const errors = [];
    const result = streamText(ask(api, { onError: ({ error }) => errors.push(error) }));
    let text = "";
    for await (const piece of result.textStream) text += piece;
    assert.deepEqual(errors, []);
    assert.equal(text, answer);
    assert.equal(await result.finishReason, "stop");
    assert.ok((await result.usage).outputTokens > 0);
  });

  // What the first answer left behind goes in as ai keeps it: ids of items, of the Responses API.
  test(`${api}: a conversation`, async () => {
    const question = { role: "user", content: capital };
    const first = await generateText(ask(api, { prompt: undefined, messages: [question] }));
    const messages = [
      question, ...first.response.messages,
      { role: "user", content: "What city did we just discuss?" },
    ];
    const second = await generateText(ask(api, { prompt: undefined, messages }));
    assert.match(second.text, /Paris/);
    const spoken = first.usage.inputTokens + first.usage.outputTokens;
    assert.ok(second.usage.cachedInputTokens >= spoken - 1, String(second.usage.cachedInputTokens));
  });

  test(`${api}: generateObject`, async () => {
    const { object } = await generateObject(ask(api, { schema: place, maxOutputTokens: 300 }));
    assert.ok(["Paris", "Rome"].includes(object.city));
  });

  // Two steps: a call that is demanded, and an answer to what it gave.
  test(`${api}: a demanded tool is called, and its result goes back`, async () => {
    const calls = [];
    const weather = tool({
      description: weatherTool.description, inputSchema: jsonSchema(weatherTool.parameters),
      execute: async (input) => { calls.push(input); return "sunny"; },
    });
    const steps = { stopWhen: stepCountIs(2), maxOutputTokens: 300 };
    const result = await generateText(ask(api, {
      tools: { weather }, ...steps,
      prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "none" }),
    }));
    assert.equal(result.steps.length, 2);
    assert.equal(result.steps[0].finishReason, "tool-calls");
    assert.equal(typeof calls[0].city, "string");
    assert.match(JSON.stringify(result.steps[1].request.body), /sunny/);
    assert.ok(result.steps[1].usage.outputTokens > 0);
  });

  // The answer goes on until it is cancelled: aborted at its very end, the SDK waits for ever.
  test(`${api}: abort cancels`, async () => {
    const fetchEndless = (url, init) => fetch(
      url, { ...init, body: JSON.stringify({ ...JSON.parse(init.body), ignore_eos: true }) });
    const endless = createOpenAI({ baseURL: daemon.baseURL, apiKey: "none", fetch: fetchEndless });
    const controller = new AbortController();
    const result = streamText(ask(api, {
      model: api === "chat" ? endless.chat("demo") : endless("demo"),
      maxOutputTokens: 16_000, abortSignal: controller.signal,
    }));
    const reading = (async () => {
      for await (const _ of result.textStream);
    })().catch(() => {});
    assert.ok(await daemon.settles("cascaded_requests_running", 1));
    controller.abort();
    await reading;
    assert.ok(await daemon.settles("cascaded_requests_running", 0));
  });
}

test("responses: the daemon remembers what came before", async () => {
  const first = await generateText(ask("responses"));
  const previousResponseId = first.providerMetadata.openai.responseId;
  const second = await generateText(ask("responses", {
    prompt: "What city did we just discuss?", providerOptions: { openai: { previousResponseId } },
  }));
  assert.match(second.text, /Paris/);
  assert.ok(second.usage.cachedInputTokens >= first.usage.inputTokens);
});

test("responses: nothing is kept when store is false, and a conversation goes on", async () => {
  const providerOptions = { openai: { store: false } };
  const question = { role: "user", content: capital };
  const first = await generateText(
    ask("responses", { prompt: undefined, messages: [question], providerOptions }));
  assert.equal(first.text, answer);
  const id = first.providerMetadata.openai.responseId;
  assert.equal((await fetch(`${daemon.baseURL}/responses/${id}`)).status, 404);
  const messages = [
    question, ...first.response.messages,
    { role: "user", content: "What city did we just discuss?" },
  ];
  const second = await generateText(
    ask("responses", { prompt: undefined, messages, providerOptions }));
  assert.match(second.text, /Paris/);
});

test("completions", async () => {
  const result = await generateText({
    model: provider.completion("demo"), prompt: capital, temperature: 0, maxOutputTokens: 8,
    maxRetries: 0,
  });
  assert.ok(result.text.length > 0);
});
