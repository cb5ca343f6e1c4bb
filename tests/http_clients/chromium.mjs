// A headless Chromium, driven by its own protocol (DevTools) over a pipe.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PATIENCE_MS = 60_000;

export class Chromium {
  #child;
  #folder = mkdtempSync(join(tmpdir(), "cascade-chromium-"));
  #waiting = new Map(); // by the number of the command
  #pages = new Map(); // by session
  #number = 0;
  #rest = "";

  constructor() {
    this.#child = spawn(process.env.CHROMIUM, ["--headless=new", "--remote-debugging-pipe",
      `--user-data-dir=${this.#folder}`, "--no-first-run", "--disable-gpu",
      "--disable-dev-shm-usage", "--hide-scrollbars",
      // Chromium's sandbox needs rights that root and containers do not give it.
      "--no-sandbox", "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.#child.stdio[4].setEncoding("utf8").on("data", (text) => this.#receive(text));
    this.#child.on("exit", (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`Chromium ended: ${code}`));
    });
  }

  async open(url, { colors = "light", width = 1280, height = 1100 } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    this.#pages.set(sessionId, page);
    for (const domain of ["Page", "Runtime", "Log"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride",
      { width, height, deviceScaleFactor: 1, mobile: false });
    await page.send("Emulation.setEmulatedMedia",
      { features: [{ name: "prefers-color-scheme", value: colors }] });
    await page.go(url);
    return page;
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  }

  async close() {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    await this.send("Browser.close").catch(() => {});
    await ended;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #receive(text) {
    const messages = (this.#rest + text).split("\0");
    this.#rest = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const waiting = this.#waiting.get(message.id);
      if (waiting === undefined) {
        this.#pages.get(message.sessionId)?.hear(message);
        continue;
      }
      this.#waiting.delete(message.id);
      if (message.error) waiting.reject(new Error(message.error.message));
      else waiting.resolve(message.result);
    }
  }
}

class Page {
  complaints = []; // exceptions, and errors in the console: the policy's as well
  #chromium;
  #session;
  #loaded = () => {};

  constructor(chromium, session) {
    this.#chromium = chromium;
    this.#session = session;
  }

  send(method, params) {
    return this.#chromium.send(method, params, this.#session);
  }

  hear({ method, params }) {
    if (method === "Page.loadEventFired") this.#loaded();
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error") {
      this.complaints.push(params.entry.text);
    }
  }

  async go(url) {
    const loaded = new Promise((resolve) => {
      this.#loaded = resolve;
    });
    await this.send("Page.navigate", { url });
    await loaded;
  }

  // What `does(...given)` returns in the page.
  async run(does, ...given) {
    const expression = `(${does})(...${JSON.stringify(given)})`;
    const { result, exceptionDetails: problem } = await this.send("Runtime.evaluate",
      { expression, returnByValue: true, awaitPromise: true });
    if (problem) throw new Error(problem.exception?.description ?? problem.text);
    return result.value;
  }

  // The first value that is something.
  async until(does, ...given) {
    const end = Date.now() + PATIENCE_MS;
    while (Date.now() < end) {
      const value = await this.run(does, ...given);
      if (value) return value;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`never: ${does} of ${JSON.stringify(given)}; ${this.complaints.join("; ")}`);
  }

  // With the mouse, in the middle of the element.
  async click(selector) {
    const { x, y } = await this.until((wanted) => {
      const element = document.querySelector(wanted);
      if (element === null || element.disabled) return null;
      element.scrollIntoView({ block: "center" });
      const { left, top, width, height } = element.getBoundingClientRect();
      return width > 0 && { x: left + width / 2, y: top + height / 2 };
    }, selector);
    const mouse = { x, y, button: "left", clickCount: 1 };
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, ...mouse });
    }
  }

  async type(selector, text) {
    await this.click(selector);
    await this.send("Input.insertText", { text });
  }

  // PNG, of all of the page.
  async screenshot() {
    const { data } = await this.send("Page.captureScreenshot",
      { format: "png", captureBeyondViewport: true });
    return Buffer.from(data, "base64");
  }
}
