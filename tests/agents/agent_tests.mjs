// What every agent must be able to do with a daemon: ask, go on, call a function, be interrupted.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { capital, startDaemon } from "../http_clients/daemon.mjs";
import { makeAgent } from "./agent.mjs";
import { makeModel } from "./model.mjs";
import { startRelay } from "./relay.mjs";

const next = "What city did we just discuss?";
const secret = "The code word is heliotrope.";

// `name`: the program. `settings(baseURL, key, positions)`: what makeAgent() takes.
// `ask(text, agent)`, `goOn(text, agent)`: the arguments for a first question, and for one more in
// the same conversation. `shown(stdout)`: the text of the answer in what it wrote. `call(file)`:
// the function that reads the file, and its arguments.
export function testAgent({ name, settings, ask, goOn, shown, call }) {
  let model, daemon, relay, agent;
  before(async () => {
    model = makeModel();
    // An answer that finds no end would be thousands of tokens.
    daemon = await startDaemon({
      model: model.folder, tenants: ["local"], more: ["--max-tokens", "300"],
    });
    relay = await startRelay(daemon.url);
    const { files, environment } = settings(relay.baseURL, daemon.keys.local, model.positions);
    agent = makeAgent(name, { files, environment, project: { "note.txt": secret + "\n" } });
  });
  after(async () => {
    agent?.remove();
    await relay?.stop();
    await daemon?.stop();
    model?.remove();
  });

  // Runs it, and gives what it wrote and the requests with functions: those of the conversation.
  const run = async (...given) => {
    relay.forget();
    const result = await agent.run(...given);
    const told = JSON.stringify({ ...result, asked: relay.exchanges.map(
      ({ path, status, text }) => [path, status, status === 200 ? "" : text]) }, null, 1);
    assert.equal(result.code, 0, told);
    for (const exchange of relay.exchanges) assert.equal(exchange.status, 200, told);
    for (const exchange of relay.generations) assert.ok(exchange.complete, told);
    const turns = relay.generations.filter((exchange) => exchange.tools.length > 0);
    assert.ok(turns.length > 0, told);
    for (const turn of turns) assert.ok(turn.streamed);
    return { ...result, turns };
  };
  const told = (exchange) => JSON.stringify(exchange.turns);
  // Asserts that only the new part of a prompt was computed.
  const assertReuse = (later, earlier) => {
    assert.ok(later.usage.cached >= 0.95 * earlier.usage.prompt,
      `${later.usage.cached} of ${later.usage.prompt} tokens were found; there were ` +
      `${earlier.usage.prompt} before`);
  };

  let first;
  test(`${name}: a question is answered`, async () => {
    const { stdout, turns } = await run(...ask(capital, agent));
    assert.ok(told(turns[0]).includes(capital));
    assert.equal(shown(stdout).trim(), turns.at(-1).answer.trim());
    first = turns[0];
  });

  test(`${name}: the conversation goes on, and computes what is new alone`, async () => {
    const { stdout, turns } = await run(...goOn(next, agent));
    const asked = told(turns[0]);
    assert.ok(asked.includes(capital) && asked.includes(next));
    assert.ok(asked.includes(JSON.stringify(first.answer.trim()).slice(1, -1)), asked.slice(-2000));
    assert.equal(shown(stdout).trim(), turns.at(-1).answer.trim());
    assertReuse(turns[0], first);
  });

  test(`${name}: a function is called, and its result goes back`, async () => {
    const { name: tool, given } = call(`${agent.project}/note.txt`);
    relay.demand(tool, given);
    const { stdout, turns } = await run(...ask("What is the code word in note.txt?", agent));
    assert.equal(turns.filter((turn) => turn.changed).length, 1);
    const [asked, back] = turns.slice(turns.findIndex((turn) => turn.changed));
    assert.deepEqual(asked.calls, [{ name: tool, given }]);
    assert.ok(back.results.includes(secret), told(back).slice(-2000));
    assert.equal(shown(stdout).trim(), turns.at(-1).answer.trim());
  });

  test(`${name}: when it is interrupted the daemon stops, too`, async () => {
    relay.forget();
    relay.lengthen();
    const running = agent.start(...ask("Tell me a story.", agent));
    assert.ok(await daemon.settles("cascaded_requests_running", 1));
    running.end("SIGKILL");
    await running.done;
    assert.ok(await daemon.settles("cascaded_requests_running", 0));
  });
}
