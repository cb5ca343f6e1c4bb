// The dashboard in headless Chromium: it generates, pins and deletes, shows hostile text as text,
// and asks for a key. CASCADE_SCREENSHOT=FILE writes what it looks like.
// Needs Chromium: scripts/test-node says where it is, scripts/install-node-packages installs it.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { Chromium } from "./chromium.mjs";
import { capital, answer, startDaemon } from "./daemon.mjs";

const HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>';
let chromium;

before(() => {
  chromium = new Chromium();
});

after(() => chromium.close());

const isShown = (selector) => document.querySelector(selector)?.checkVisibility();
const textOf = (selector) => document.querySelector(selector)?.textContent;

// The id of the first row of chunks with this text in it, once there is one.
const chunkWith = (text) => [...document.querySelectorAll("#chunks tr")]
  .find((row) => row.textContent.includes(text))?.dataset.id;

// Clicks a chunk's button as soon as it says that.
async function press(page, id, label) {
  const selector = `#chunks tr[data-id="${id}"] button`;
  const place = await page.until((buttons, text) => [...document.querySelectorAll(buttons)]
    .findIndex((one) => one.textContent === text && !one.disabled) + 1, selector, label);
  await page.click(`${selector}:nth-of-type(${place})`);
}

test("it generates, pins and deletes", async (t) => {
  const daemon = await startDaemon();
  t.after(() => daemon.stop());
  const page = await chromium.open(daemon.url + "/");
  // Until then the page grows under the mouse.
  await page.until(() => document.querySelector("#state.good") !== null);
  await page.type("#prompt", capital);
  await page.click("#send");
  await page.until((text) => document.querySelector("#answer").textContent.includes(text), answer);
  const id = await page.until(chunkWith, answer);
  assert.match(id, /^output_/);
  await page.until(() => document.querySelector("#requests td.good")?.textContent === "stop");

  const told = async () => fetch(`${daemon.baseURL}/chunks/${id}`);
  await press(page, id, "Pin");
  await page.until((row) => document.querySelector(
    `#chunks tr[data-id="${row}"] button[aria-pressed="true"]`) !== null, id);
  assert.equal((await (await told()).json()).pinned, true);
  await press(page, id, "Unpin");
  await press(page, id, "Delete");
  assert.equal((await told()).status, 200, "one click deletes nothing");
  await press(page, id, "Sure?");
  await page.until((row) => document.querySelector(`#chunks tr[data-id="${row}"]`) === null, id);
  assert.equal((await told()).status, 404);
  assert.equal(await page.run(isShown, "#problem"), false);
  assert.deepEqual(page.complaints, []);
});

test("what models and users write is text", async (t) => {
  const daemon = await startDaemon();
  t.after(() => daemon.stop());
  const page = await chromium.open(daemon.url + "/");
  const body = JSON.stringify({ text: HOSTILE, name: HOSTILE });
  const made = await fetch(`${daemon.baseURL}/chunks`, { method: "POST", body });
  assert.equal(made.status, 200);
  const id = await page.until(chunkWith, HOSTILE);
  assert.equal(await page.run(textOf, `#chunks tr[data-id="${id}"] td.text`), HOSTILE + HOSTILE);
  assert.deepEqual(page.complaints, []);
  // The policy stands behind that: the page cannot make HTML of a string, nor run an attribute.
  const held = await page.run((html) => {
    const refused = (change) => {
      try {
        change();
        return false;
      } catch (error) {
        return error instanceof TypeError;
      }
    };
    const image = document.createElement("img");
    return refused(() => image.setAttribute("onerror", "window.pwned=1")) &&
      refused(() => { document.body.innerHTML = html; });
  }, HOSTILE);
  assert.equal(held, true);
  await page.until(() => document.querySelector("#state.good") !== null);
  assert.equal(await page.run(() => window.pwned === undefined), true);
});

test("with keys it asks for one, and keeps it nowhere", async (t) => {
  const daemon = await startDaemon({ tenants: ["local", "alice"] });
  t.after(() => daemon.stop());
  const page = await chromium.open(daemon.url + "/");
  const enter = async (key) => {
    await page.until(isShown, "#key-form");
    await page.type("#key", key);
    await page.click("#key-form button");
  };
  await enter("sk-cascade-wrong");
  await page.until(isShown, "#problem");
  await enter(daemon.keys.alice);
  await page.until(isShown, "#main");
  await page.until(() => document.querySelector("#model").textContent.includes("tenant alice"));
  assert.equal(await page.run(isShown, "#rates-panel"), false);
  const kept = await page.run(() =>
    [localStorage.length, sessionStorage.length, document.cookie, location.href]);
  assert.deepEqual(kept, [0, 0, "", daemon.url + "/"]);
  await page.go(daemon.url + "/");
  await enter(daemon.keys.local);
  await page.until(isShown, "#rates-panel");
});

test("a daemon that is gone is said to be", async (t) => {
  const daemon = await startDaemon();
  t.after(() => daemon.stop());
  const page = await chromium.open(daemon.url + "/");
  await page.until(isShown, "#state.good");
  await daemon.stop();
  await page.until(() => document.querySelector("#state").textContent === "no answer");
});

// A picture for the documentation, of a daemon that has something to show.
test("what it looks like", { skip: !process.env.CASCADE_SCREENSHOT }, async (t) => {
  const daemon = await startDaemon({ more: ["--kv-memory", "24M"] });
  t.after(() => daemon.stop());
  const ask = (path, body, method = "POST") => fetch(daemon.baseURL + path,
    { method, body: JSON.stringify(body) }).then((reply) => reply.json());
  const page = await chromium.open(daemon.url + "/",
    { colors: process.env.CASCADE_COLORS, height: 1560 });
  await ask("/chunks", { type: "SYSTEM_PROMPT", text: "You are a helpful assistant.",
    name: "assistant" });
  const report = await ask("/chunks", { text: "Rome is in Italy. Ana lives in Oslo. ".repeat(8),
    name: "report", ttl_ms: 7_200_000 });
  await ask(`/chunks/${report.id}`, { pinned: true }, "PATCH");
  await ask("/chunks", { type: "QUERY", text: "Where does Ana live?", ttl_ms: 600_000 });
  for (const place of ["France", "Italy", "Spain", "Kenya", "Norway", "Japan", "France"]) {
    for (const more of ["", " Please say it in one sentence."]) {
      const content = `What is the capital of ${place}?${more}`;
      await ask("/chat/completions", { messages: [{ role: "user", content }], temperature: 0,
        max_tokens: 60, retain_output: true });
      await pause(700);
    }
  }
  await page.type("#prompt", capital);
  await page.click("#send");
  await page.until(() => document.querySelector("#usage").textContent !== "");
  await pause(2500);
  writeFileSync(process.env.CASCADE_SCREENSHOT, await page.screenshot());
});
