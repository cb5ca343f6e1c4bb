// A cascaded process with HTTP, for tests: its own folders, a free port, the demo model.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../..", import.meta.url));
const bin = process.env.CASCADE_BIN_DIR ?? join(source, "build/release/bin");

// All cases and rounds, as ./check --long asks for them. Without it: fewer.
export const LONG = process.env.CASCADE_LONG_TESTS === "1";

// `tenants`: each has a key, and who has none is refused. `more`: arguments. `model`: a folder.
export async function startDaemon(
  { tenants = [], more = [], model = join(source, "models/demo") } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "cascade-http-"));
  const log = join(folder, "log");
  const out = openSync(log, "w");
  const file = join(folder, "keys");
  const keys = Object.fromEntries(tenants.map((tenant) => [tenant, execFileSync(
    join(bin, "cascadectl"), ["key", "new", "--tenant", tenant, "--file", file],
    { encoding: "utf8" }).split("\n")[0].trim()]));
  const guarded = tenants.length > 0 ? ["--http-keys", file] : [];
  const child = spawn(
    join(bin, "cascaded"),
    ["--model", model, "--run-dir", join(folder, "run"),
     "--state-dir", join(folder, "state"), "--http", "127.0.0.1:0", "--threads", "1",
     ...(more.includes("--kv-memory") ? [] : ["--kv-memory", "256M"]), ...guarded, ...more],
    { stdio: ["ignore", out, out] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const address = async () => {
    while (child.exitCode === null) {
      const found = /HTTP at (http:\S+)/.exec(readFileSync(log, "utf8"));
      if (found) return found[1];
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("the daemon does not start: " + readFileSync(log, "utf8"));
  };
  const url = await address();
  while ((await fetch(url + "/health")).status !== 200) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    url,
    keys, // by tenant
    baseURL: url + "/v1",
    // The value of one metric. With keys there must be one of the tenant "local".
    async metric(name) {
      const headers = keys.local ? { "X-Api-Key": keys.local } : {};
      const text = await (await fetch(url + "/metrics", { headers })).text();
      const line = text.split("\n").find((l) => l.startsWith(name + " "));
      return Number(line.slice(name.length + 1));
    },
    // Waits until the metric has the value; a minute at most.
    async settles(name, value) {
      const end = Date.now() + 60_000;
      while (Date.now() < end) {
        if ((await this.metric(name)) === value) return true;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return false;
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const capital = "What is the capital of France?";
export const answer = "The capital of France is Paris.";
export const weatherTool = {
  name: "weather",
  description: "The weather of a city",
  // A small model does not find the end of a string by itself.
  parameters: {
    type: "object", required: ["city"], additionalProperties: false,
    properties: { city: { type: "string", maxLength: 20 } },
  },
};
