// Schemas as zod writes them, by npm openai's own helper: what comes back is what zod takes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { LONG, startDaemon, weatherTool } from "./daemon.mjs";

let daemon, client;
before(async () => {
  daemon = await startDaemon();
  client = new OpenAI({ baseURL: daemon.baseURL, apiKey: "none", maxRetries: 0 });
});
after(() => daemon.stop());

const ask = (more) => ({
  model: "demo", messages: [{ role: "user", content: "Make one up." }], temperature: 1.5,
  reasoning_effort: "none", max_tokens: 400, ...more,
});

const types = {
  email: z.email().max(40), uuid: z.uuid(), datetime: z.iso.datetime(), ipv4: z.ipv4(),
  duration: z.iso.duration().max(20), mac: z.mac(),
  password: z.string().regex(/^(?=.*[a-z])(?=.*\d)[a-z0-9]{4,12}$/),
  price: z.number().min(0).max(100).multipleOf(0.25), count: z.int().multipleOf(3).max(99),
  tags: z.array(z.enum(["a", "b", "c"])).max(3), pair: z.tuple([z.boolean(), z.int().max(9)]),
  named: z.record(z.enum(["a", "b"]), z.boolean()), free: z.record(z.string().max(5), z.boolean()),
  choice: z.discriminatedUnion("type", [
    z.object({ type: z.literal("a"), x: z.boolean() }),
    z.object({ type: z.literal("b"), y: z.ipv6() })]),
};

// An answer may be cut before its end; so many that are complete are enough.
const ENOUGH = LONG ? Infinity : 2;

// A model that is asked to make something up at this temperature goes wherever it may.
for (const [name, type] of Object.entries(types)) {
  test(`answers are of the zod type ${name}`, async () => {
    const schema = z.object({ it: type });
    const format = { type: "json_schema",
      json_schema: { name, schema: z.toJSONSchema(schema) } };
    let complete = 0;
    for (let seed = 0; seed < 6 && complete < ENOUGH; seed++) {
      const reply = await client.chat.completions.create(ask({ seed, response_format: format }));
      const { finish_reason, message } = reply.choices[0];
      if (finish_reason === "length") continue;
      complete++;
      const read = schema.safeParse(JSON.parse(message.content));
      assert.ok(read.success, `${message.content}: ${read.error}`);
    }
    assert.ok(complete > 0, "no answer was complete");
  });
}

test("the client's own helper", async () => {
  const person = z.object({ name: z.string().max(12), mail: z.email().max(30).nullable(),
    tags: z.array(z.enum(["x", "y"])).max(2) });
  const reply = await client.chat.completions.parse(
    ask({ seed: 1, response_format: zodResponseFormat(person, "person") }));
  assert.ok(person.safeParse(reply.choices[0].message.parsed).success);
});

test("what cannot be held is refused with the path that the client wrote", async () => {
  const schema = { type: "object", properties: { ages: {
    type: "array", items: { type: "integer" }, uniqueItems: true } } };
  const format = { type: "json_schema", json_schema: { name: "x", schema } };
  const tools = [{ type: "function", function: weatherTool },
    { type: "function", function: { name: "f", parameters: schema } }];
  for (const [more, path] of [
    [{ response_format: format }, "response_format.json_schema.schema"],
    [{ tools, tool_choice: "required" }, "tools[1].function.parameters"],
    [{ tools, response_format: { type: "json_object" } }, "tools[1].function.parameters"],
    [{ tools: tools.slice(0, 1), response_format: format }, "response_format.json_schema.schema"],
  ]) {
    await assert.rejects(client.chat.completions.create(ask(more)), (error) => {
      assert.equal(error.status, 400);
      assert.equal(error.param, path);
      assert.ok(error.message.includes(`${path}#/properties/ages: uniqueItems: `), error.message);
      return true;
    });
  }
});

test("a call that is cut is no text, wherever it is cut", async () => {
  const call = { tools: [{ type: "function", function: weatherTool }], tool_choice: "required",
    parallel_tool_calls: false, temperature: 0 };
  let cut = 0;
  for (let max_tokens = 1; max_tokens < 60; max_tokens += LONG ? 3 : 7) {
    const reply = await client.chat.completions.create(ask({ ...call, max_tokens }));
    const { finish_reason, message } = reply.choices[0];
    assert.equal(message.content ?? "", "", `after ${max_tokens} tokens`);
    if (finish_reason === "length") cut++;
    else assert.equal(message.tool_calls.length, 1);
    if (max_tokens % 2 === 0) continue;
    let streamed = "", last;
    const stream = await client.chat.completions.create(ask({ ...call, max_tokens, stream: true }));
    for await (const chunk of stream) {
      streamed += chunk.choices[0]?.delta.content ?? "";
      last = chunk.choices[0]?.finish_reason ?? last;
    }
    assert.equal(streamed, "");
    assert.equal(last, finish_reason);
    const response = await client.responses.create({
      model: "demo", input: "Weather?", tools: [{ type: "function", ...weatherTool }],
      tool_choice: "required", parallel_tool_calls: false, temperature: 0,
      reasoning: { effort: "none" }, max_output_tokens: max_tokens });
    assert.ok(!JSON.stringify(response.output).includes("<tool"));
    if (response.status === "incomplete") {
      assert.equal(response.incomplete_details.reason, "max_output_tokens");
    }
  }
  assert.ok(cut > 2, "no call was cut");
});
