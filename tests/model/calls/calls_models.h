// Models whose calls have marks that are special tokens, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/model/conversation_testing.h"

namespace cascade::testing {

// The demo tokenizer without its think tokens, with these special tokens.
inline Tokenizer tokenizer_with(const std::vector<std::string>& special) {
  Json json = *parse_json(read_text(demo_model_dir() / "tokenizer.json"), "tokenizer");
  Json config = *parse_json(read_text(demo_model_dir() / "tokenizer_config.json"), "config");
  const auto rename = [](Json& token) {
    const bool is_think = token["content"] == "<think>" || token["content"] == "</think>";
    if (is_think) token["content"] = "x" + token["content"].get<std::string>();
  };
  for (Json& token : json["added_tokens"]) rename(token);
  for (auto& [id, token] : config["added_tokens_decoder"].items()) rename(token);
  int32_t id = 8192;
  for (const std::string& token : special) {
    config["added_tokens_decoder"][std::to_string(id++)] = {{"content", token}, {"special", true}};
  }
  return *Tokenizer::load(json, config);
}

// A template with the rules of Gemma 4's: thoughts, calls and results are in one turn, and text
// beside calls comes last. Thoughts stay until the user's next message.
inline constexpr std::string_view kGemmaTemplate = R"(
{%- set ns = namespace(user=-1, open=false) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.user = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- for m in messages -%}
  {%- if m.role == 'user' -%}<|turn>user{{ '\n' }}{{ m.content }}<turn|>{{ '\n' }}
  {%- elif m.role == 'assistant' -%}
    {%- if loop.index0 == 0 or messages[loop.index0 - 1].role == 'user' -%}<|turn>model{{ '\n' }}
    {%- endif -%}
    {%- if m.reasoning_content and loop.index0 > ns.user -%}
      {{- '<|channel>thought\n' + m.reasoning_content + '\n<channel|>' -}}
    {%- endif -%}
    {%- set results = namespace(any=false) -%}
    {%- for c in m.tool_calls or [] -%}
      <|tool_call>call:{{ c.function.name }}{
      {%- for k, v in c.function.arguments | items -%}
        {%- if not loop.first -%},{%- endif -%}{{ k }}:
        {%- if v is string -%}<|"|>{{ v }}<|"|>{%- else -%}{{ v }}{%- endif -%}
      {%- endfor -%}}<tool_call|>
    {%- endfor -%}
    {%- if m.tool_calls -%}
      {%- for r in messages[loop.index:] -%}
        {%- if r.role == 'tool' and not results.done -%}
          {%- set results.any = true -%}
          {{- '<|tool_response>response:' + (r.name or 'unknown') + '{value:<|"|>' -}}
          {{- r.content + '<|"|>}<tool_response|>' -}}
        {%- else -%}{%- set results.done = true -%}{%- endif -%}
      {%- endfor -%}
    {%- endif -%}
    {{- m.content -}}
    {%- set next = namespace(role='') -%}
    {%- for r in messages[loop.index:] -%}
      {%- if r.role != 'tool' and not next.role -%}{%- set next.role = r.role -%}{%- endif -%}
    {%- endfor -%}
    {%- if m.tool_calls and not results.any -%}<|tool_response>
    {%- elif next.role == 'assistant' -%}
    {%- elif not (results.any and not m.content and not next.role) -%}<turn|>{{ '\n' }}
    {%- else -%}{%- set ns.open = true -%}{%- endif -%}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt and not ns.open -%}<|turn>model{{ '\n' }}{%- endif -%})";

inline TextModel gemma_model() {
  return {tokenizer_with({"<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|tool_call>",
                          "<tool_call|>", "<|tool_response>", "<tool_response|>", "<|\"|>"}),
          templates_of(kGemmaTemplate)};
}

// A template with the rules of Ministral 3's: thoughts are a part of the content.
inline constexpr std::string_view kMistralTemplate = R"(
{%- for m in messages -%}
  {%- if m.role == 'user' -%}[INST]{{ m.content }}[/INST]
  {%- elif m.role == 'assistant' -%}
    {%- if m.content is string -%}{{ m.content }}
    {%- else -%}
      {%- for part in m.content -%}
        {%- if part.type == 'thinking' -%}[THINK]{{ part.thinking }}[/THINK]
        {%- else -%}{{ part.text }}{%- endif -%}
      {%- endfor -%}
    {%- endif -%}
    {%- for c in m.tool_calls or [] -%}
      [TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}
    {%- endfor -%}</s>
  {%- elif m.role == 'tool' -%}[TOOL_RESULTS]{{ m.content }}[/TOOL_RESULTS]
  {%- endif -%}
{%- endfor -%})";

inline TextModel mistral_model() {
  return {tokenizer_with({"[INST]", "[/INST]", "[THINK]", "[/THINK]", "[TOOL_CALLS]", "[ARGS]",
                          "[CALL_ID]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "</s>"}),
          templates_of(kMistralTemplate)};
}

}  // namespace cascade::testing
