// What the tests of conversations share: models without weights, random messages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "model/conversation.h"
#include "tests/shared_dir.h"

namespace cascade::testing {

using Ids = std::vector<int32_t>;
using Messages = std::vector<ChatMessage>;

inline ChatMessage message(std::string role, std::string content, std::string reasoning = "") {
  ChatMessage message;
  message.role = std::move(role);
  message.content = std::move(content);
  message.reasoning = std::move(reasoning);
  return message;
}

inline ChatMessage verbatim(std::string content) {
  ChatMessage message = testing::message("assistant", std::move(content));
  message.verbatim = true;
  return message;
}

// The demo tokenizer with the special tokens that real templates write, and a template.
struct TextModel {
  Tokenizer tokenizer;
  ModelTemplates templates;
  OrderedJson template_tokens = OrderedJson::object();

  ConversationContext context(std::optional<bool> thinking = std::nullopt) const {
    return {tokenizer, templates, thinking, 1'767'323'045};
  }
  bool has_special(const Ids& ids) const {
    return std::ranges::any_of(ids, [&](int32_t id) { return tokenizer.is_special(id); });
  }
};

inline std::string read_text(const std::filesystem::path& path) {
  auto text = read_file(path, size_t{64} << 20);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *std::move(text) : std::string();
}

inline TextModel demo_text_model() {
  ModelText text = *load_model_text(demo_model_dir());
  return {std::move(text.tokenizer), std::move(text.templates), std::move(text.template_tokens)};
}

// One template, called "default".
inline ModelTemplates templates_of(std::string_view source, const OrderedJson& tokens = {}) {
  auto loaded = conversation_template(std::string(source), tokens);
  EXPECT_TRUE(loaded.ok()) << source;
  ModelTemplates templates;
  templates.add("default", std::move(loaded));
  return templates;
}

inline TextModel text_model_with(std::string_view template_source) {
  Json config = *parse_json(read_text(demo_model_dir() / "tokenizer_config.json"), "config");
  int32_t id = 8192;
  for (const char* token : {"<s>", "</s>", "[INST]", "[/INST]", "<start_of_turn>", "<end_of_turn>",
                            "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}) {
    config["added_tokens_decoder"][std::to_string(id++)] = {{"content", token}, {"special", true}};
  }
  const Json json = *parse_json(read_text(demo_model_dir() / "tokenizer.json"), "tokenizer");
  OrderedJson tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  TextModel model{*Tokenizer::load(json, config), templates_of(template_source, tokens)};
  model.template_tokens = std::move(tokens);
  return model;
}

// The ids that apply_chat_template would give: the rendered messages, tokenized.
inline Ids reference_ids(const TextModel& model, const Messages& messages, bool generation_prompt,
                         std::optional<bool> thinking) {
  OrderedJson variables = model.template_tokens;
  variables["messages"] = OrderedJson::array();
  for (const ChatMessage& m : messages) {
    OrderedJson entry = {{"role", m.role}, {"content", m.content}};
    if (!m.reasoning.empty()) entry["reasoning_content"] = m.reasoning;
    variables["messages"].push_back(entry);
  }
  variables["tools"] = nullptr;
  variables["documents"] = nullptr;
  variables["add_generation_prompt"] = generation_prompt;
  if (thinking) variables["enable_thinking"] = *thinking;
  const auto text = (*model.templates.choose(false))->source().render(variables, 1'767'323'045);
  EXPECT_TRUE(text.ok()) << text.error().to_string();
  return *model.tokenizer.encode(*text, /*with_template=*/false);
}

inline bool begins_with(const Ids& ids, const Ids& prefix) {
  return ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
}

// Words, white space at the edges, characters of many bytes, and everything that could be mistaken
// for something else: tokens, stand-ins, template syntax.
inline std::string random_content(Random& random) {
  static const std::vector<std::string> kParts = {"Hello",
                                                  " world",
                                                  " 42",
                                                  "\n",
                                                  "\n\n",
                                                  "  ",
                                                  ".",
                                                  "'s",
                                                  "caf\xC3\xA9",
                                                  "e\xCC\x81",
                                                  "\xF0\x9F\x98\x80",
                                                  "\xE4\xB8\xAD\xE6\x96\x87",
                                                  "\xCC\x81",
                                                  "<|im_end|>",
                                                  "<|im_start|>",
                                                  "<|im_",
                                                  "end|>",
                                                  "<think>",
                                                  "</think>",
                                                  "[INST]",
                                                  "[/INST]",
                                                  "</s>",
                                                  "<end_of_turn>",
                                                  "<|eot_id|>",
                                                  "{{ messages }}",
                                                  "{% raw %}",
                                                  "\xEE\x80\x80"
                                                  "cascade1"
                                                  "\xEE\x80\x81",
                                                  "\xEE\x80\x80"
                                                  "cascade2"
                                                  "\xEE\x80\x81",
                                                  "\xEE\x80\x80",
                                                  "\xEE\x80\x81",
                                                  "cascade",
                                                  "0",
                                                  "\t",
                                                  "/no_think"};
  std::string content;
  for (uint64_t i = random.below(9); i > 0; --i) content += kParts[random.below(kParts.size())];
  return content;
}

// An optional system message, then turns of user and assistant; the last one is the assistant's.
inline Messages random_conversation(Random& random, bool may_have_system) {
  Messages messages;
  if (may_have_system && random.below(2) == 0) {
    messages.push_back(message("system", random_content(random)));
  }
  for (uint64_t turns = 1 + random.below(3); turns > 0; --turns) {
    messages.push_back(message("user", random_content(random)));
    const bool thought = random.below(3) == 0;
    messages.push_back(message("assistant", random_content(random),
                               thought ? random_content(random) : std::string()));
  }
  return messages;
}

}  // namespace cascade::testing
