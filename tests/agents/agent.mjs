// Starts an agent as a user does who has nothing else: a home and a project of its own, an
// environment with nothing of the caller's, a limit on its time.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("node_modules/", import.meta.url));
const limitMs = 300_000;

const arch = process.arch === "x64" ? "x64-baseline" : process.arch;
// What starts each agent: Node and a script for packages written for Node, otherwise the program.
const programs = {
  codex: [process.execPath, join(packages, "@openai/codex/bin/codex.js")],
  cn: [process.execPath, join(packages, "@continuedev/cli/dist/cn.js")],
  qwen: [process.execPath, join(packages, "@qwen-code/qwen-code/cli-entry.js")],
  // The package's own starter is put there by an install script; these are not run.
  opencode: [join(packages, `opencode-linux-${arch}/bin/opencode`)],
};

// `name`: one of `programs`. `files`: contents by name, below the home. `project`: the same, below
// the project. `environment`: variables.
export function makeAgent(name, { files = {}, project = {}, environment = {} }) {
  const folder = mkdtempSync(join(tmpdir(), `cascade-${name}-`));
  const home = join(folder, "home"), work = join(folder, "project");
  const write = (below, contents) => {
    mkdirSync(below, { recursive: true });
    for (const [file, text] of Object.entries(contents)) {
      mkdirSync(dirname(join(below, file)), { recursive: true });
      writeFileSync(join(below, file), text);
    }
  };
  write(home, files);
  write(work, project);
  const [program, ...first] = programs[name];
  if (!existsSync(first[0] ?? program)) {
    throw new Error(`${name} is not installed: run scripts/install-agent-packages`);
  }
  const options = {
    cwd: work, detached: true, stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`, HOME: home, TMPDIR: folder,
      LANG: "C.UTF-8", TERM: "dumb", ...environment,
    },
  };
  const alive = new Set();
  const end = (child) => {
    try {
      process.kill(-child.pid, "SIGKILL"); // the group: an agent starts processes
    } catch {} // none of it is left
  };
  return {
    home, project: work,
    // Runs it. `end(signal)` of the result ends it; `done` is its exit code and what it wrote.
    start(...given) {
      const child = spawn(program, [...first, ...given], options);
      alive.add(child);
      const told = { stdout: "", stderr: "" };
      for (const stream of ["stdout", "stderr"]) {
        child[stream].on("data", (chunk) => { told[stream] += chunk; });
      }
      const limit = setTimeout(() => end(child), limitMs);
      const done = new Promise((resolve, reject) => {
        child.on("error", reject);
        child.on("close", (code, signal) => {
          clearTimeout(limit);
          end(child);
          alive.delete(child);
          resolve({ code, signal, ...told });
        });
      });
      return { done, end: (signal) => process.kill(-child.pid, signal) };
    },
    run(...given) {
      return this.start(...given).done;
    },
    remove() {
      for (const child of alive) end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// The JSON lines of what an agent wrote.
export const linesOf = (text) => text.split("\n").filter((line) => line.startsWith("{"))
  .map((line) => JSON.parse(line));
