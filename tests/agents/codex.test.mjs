// Codex (@openai/codex), unmodified: it speaks the Responses API and keeps conversations itself.
import { linesOf } from "./agent.mjs";
import { testAgent } from "./agent_tests.mjs";

const config = (baseURL, positions) => `\
model = "demo"
model_provider = "cascade"
model_context_window = ${positions}
check_for_update_on_startup = false

[model_providers.cascade]
name = "Cascade"
base_url = "${baseURL}"
env_key = "CASCADE_API_KEY"
wire_api = "responses"

[analytics]
enabled = false
`;
const options = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];

testAgent({
  name: "codex",
  settings: (baseURL, key, positions) => ({
    files: { ".codex/config.toml": config(baseURL, positions) },
    environment: { CASCADE_API_KEY: key },
  }),
  ask: (text) => ["exec", ...options, text],
  goOn: (text) => ["exec", "resume", "--last", ...options, text],
  shown: (stdout) => linesOf(stdout)
    .filter(({ item }) => item?.type === "agent_message").at(-1).item.text,
  call: (file) => ({ name: "exec_command", given: { cmd: `cat ${file}` } }),
});
