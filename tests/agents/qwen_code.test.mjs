// qwen-code (@qwen-code/qwen-code), unmodified: chat completions.
import { testAgent } from "./agent_tests.mjs";

const settings = {
  security: { auth: { selectedType: "openai" } },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  // It would read each conversation again, behind a prompt of its own, for what to remember of it.
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
  model: { generationConfig: { samplingParams: { max_tokens: 300 } } },
};

testAgent({
  name: "qwen",
  settings: (baseURL, key) => ({
    files: { ".qwen/settings.json": JSON.stringify(settings) },
    environment: { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseURL, OPENAI_MODEL: "demo" },
  }),
  ask: (text) => ["--prompt", text],
  goOn: (text) => ["--continue", "--prompt", text],
  shown: (stdout) => stdout,
  call: (file) => ({ name: "read_file", given: { file_path: file } }),
});
