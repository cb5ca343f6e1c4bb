// Continue's command line (@continuedev/cli, "cn"), unmodified: chat completions.
import { testAgent } from "./agent_tests.mjs";

const config = (baseURL, key, positions) => `\
name: Cascade
version: 0.0.1
schema: v1
models:
  - name: demo
    provider: openai
    model: demo
    apiBase: ${baseURL}
    apiKey: ${key}
    roles: [chat]
    defaultCompletionOptions:
      contextLength: ${positions}
      maxTokens: 300
`;
const options = (home) => ["--config", `${home}/.continue/config.yaml`, "--print"];

testAgent({
  name: "cn",
  settings: (baseURL, key, positions) => ({
    files: { ".continue/config.yaml": config(baseURL, key, positions) },
    environment: { CONTINUE_TELEMETRY_ENABLED: "0" },
  }),
  ask: (text, { home }) => [...options(home), text],
  goOn: (text, { home }) => [...options(home), "--resume", text],
  shown: (stdout) => stdout,
  call: (file) => ({ name: "Read", given: { filepath: file } }),
});
