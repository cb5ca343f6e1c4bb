// Models that write harmony, for tests: the demo tokenizer with the special tokens, and a template.
#pragma once

#include <string>
#include <string_view>

#include "model/harmony.h"
#include "tests/model/conversation_testing.h"

namespace cascade::testing {

inline Json harmony_config() {
  Json config = *parse_json(read_text(demo_model_dir() / "tokenizer_config.json"), "config");
  int32_t id = 8192;
  for (const char* token : {"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|constrain|>",
                            "<|call|>", "<|return|>"}) {
    config["added_tokens_decoder"][std::to_string(id++)] = {{"content", token}, {"special", true}};
  }
  return config;
}

inline constexpr size_t kHarmonyTokens = 8192 + 7;  // the vocabulary's size

// It has no think tokens.
inline Tokenizer make_harmony_tokenizer() {
  Json json = *parse_json(read_text(demo_model_dir() / "tokenizer.json"), "tokenizer");
  Json config = harmony_config();
  const auto rename = [](Json& token) {
    const bool is_think = token["content"] == "<think>" || token["content"] == "</think>";
    if (is_think) token["content"] = "x" + token["content"].get<std::string>();
  };
  for (Json& token : json["added_tokens"]) rename(token);
  for (auto& [id, token] : config["added_tokens_decoder"].items()) rename(token);
  return *Tokenizer::load(json, config);
}

inline const Tokenizer& harmony_tokenizer() {
  static const Tokenizer tokenizer = make_harmony_tokenizer();
  return tokenizer;
}

// The ids of a text in which special tokens are recognised.
inline Ids harmony_ids(std::string_view text) {
  return *harmony_tokenizer().encode(text, /*trusted=*/true, /*with_template=*/false);
}

// A template with the rules of gpt-oss': thoughts only beside calls that no answer follows, one
// call a message, its arguments and results as JSON.
inline constexpr std::string_view kHarmonyTemplate = R"(
{%- set ns = namespace(called='') -%}
{%- for m in messages -%}
  {%- if m.role == 'assistant' and m.tool_calls is defined -%}
    {%- set open = namespace(yes=true) -%}
    {%- for later in messages[loop.index:] -%}
      {%- if later.role == 'assistant' and later.tool_calls is not defined -%}
        {%- set open.yes = false -%}
      {%- endif -%}
    {%- endfor -%}
    {%- if m.content and m.thinking -%}{{- raise_exception('content and thinking') -}}{%- endif -%}
    {%- set thoughts = m.content or m.thinking -%}
    {%- if thoughts and open.yes -%}
      {{- '<|start|>assistant<|channel|>analysis<|message|>' + thoughts + '<|end|>' -}}
    {%- endif -%}
    {%- set call = m.tool_calls[0].function -%}
    {%- set ns.called = call.name -%}
    {{- '<|start|>assistant to=functions.' + call.name + '<|channel|>commentary json<|message|>' -}}
    {{- call.arguments | tojson + '<|call|>' -}}
  {%- elif m.role == 'assistant' -%}
    {{- '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' -}}
  {%- elif m.role == 'tool' -%}
    {{- '<|start|>functions.' + ns.called + ' to=assistant<|channel|>commentary<|message|>' -}}
    {{- m.content | tojson + '<|end|>' -}}
  {%- else -%}
    {{- '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start|>assistant' -}}{%- endif -%}
)";

inline const TextModel& harmony_model() {
  static const TextModel model = {make_harmony_tokenizer(), templates_of(kHarmonyTemplate)};
  return model;
}

}  // namespace cascade::testing
