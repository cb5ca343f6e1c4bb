// A model for agents: the demo model with a template that shows tools, as those of models do that
// call tools, and with room for the long prompts of agents.
import {
  mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const demo = fileURLToPath(new URL("../../models/demo", import.meta.url));
// The model was trained on 16,384 positions. Behind them it talks nonsense; no test asks for sense.
const positions = 65_536;

const template = `\
{%- set first = messages[0] -%}
{%- set ns = namespace(last_user=-1) -%}
{%- for message in messages -%}
    {%- if message.role == 'user' -%}{%- set ns.last_user = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- if tools -%}
    {{- '<|im_start|>system\\n' -}}
    {%- if first.role == 'system' -%}{{- first.content + '\\n\\n' -}}{%- endif -%}
    {{- 'Functions, each as a JSON object on a line:\\n' -}}
    {%- for tool in tools -%}{{- (tool | tojson) + '\\n' -}}{%- endfor -%}
    {{- 'Call one like this: <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>' -}}
    {{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
    {%- if tools and loop.first and message.role == 'system' -%}
    {%- elif message.role == 'tool' -%}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content -}}
        {{- '\\n</tool_response><|im_end|>\\n' -}}
    {%- else -%}
        {{- '<|im_start|>' + message.role + '\\n' -}}
        {%- if message.role == 'assistant' and loop.index0 > ns.last_user
               and message.reasoning_content -%}
            {{- '<think>\\n' + message.reasoning_content.strip('\\n') + '\\n</think>\\n\\n' -}}
        {%- endif -%}
        {{- message.content -}}
        {%- for call in message.tool_calls or [] -%}
            {{- '<tool_call>{"name": ' + (call.function.name | tojson) + ', "arguments": ' -}}
            {{- (call.function.arguments | tojson) + '}</tool_call>' -}}
        {%- endfor -%}
        {{- '<|im_end|>\\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\\n' -}}
    {%- if enable_thinking is defined and not enable_thinking -%}
        {{- '<think>\\n\\n</think>\\n\\n' -}}
    {%- endif -%}
{%- endif -%}
`;

const changes = {
  "config.json": { max_position_embeddings: positions },
  // An agent asks for no seed: the most likely token each time gives the same run each time.
  "generation_config.json": { do_sample: false, temperature: 0 },
  "tokenizer_config.json": { chat_template: template, model_max_length: positions },
};

// A folder named "demo" with the model. `remove` deletes it.
export function makeModel() {
  const scratch = mkdtempSync(join(tmpdir(), "cascade-agents-model-"));
  const folder = join(scratch, "demo");
  mkdirSync(folder);
  for (const name of readdirSync(demo)) {
    if (changes[name] === undefined) {
      symlinkSync(join(demo, name), join(folder, name));
    } else {
      const config = JSON.parse(readFileSync(join(demo, name), "utf8"));
      writeFileSync(join(folder, name), JSON.stringify({ ...config, ...changes[name] }));
    }
  }
  return { folder, positions, remove: () => rmSync(scratch, { recursive: true, force: true }) };
}
