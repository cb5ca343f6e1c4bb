// opencode (opencode-ai), unmodified: it speaks chat completions, by @ai-sdk/openai-compatible,
// which is part of it.
import { linesOf } from "./agent.mjs";
import { testAgent } from "./agent_tests.mjs";

const config = (baseURL, positions) => ({
  $schema: "https://opencode.ai/config.json",
  autoupdate: false, share: "disabled",
  model: "cascade/demo", small_model: "cascade/demo",
  provider: { cascade: {
    npm: "@ai-sdk/openai-compatible", name: "Cascade",
    options: { baseURL, apiKey: "{env:CASCADE_API_KEY}" },
    models: { demo: { name: "demo", limit: { context: positions, output: 300 } } },
  } },
});
// What it would fetch from elsewhere.
const offline = {
  OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
};
const options = ["run", "--format", "json"];

testAgent({
  name: "opencode",
  settings: (baseURL, key, positions) => ({
    files: {
      ".config/opencode/opencode.json": JSON.stringify(config(baseURL, positions)),
    },
    environment: { CASCADE_API_KEY: key, ...offline },
  }),
  ask: (text) => [...options, text],
  goOn: (text) => [...options, "--continue", text],
  shown: (stdout) => linesOf(stdout).filter(({ type }) => type === "text").at(-1).part.text,
  call: (file) => ({ name: "read", given: { filePath: file } }),
});
