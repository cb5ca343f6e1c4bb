// A chat template that is given conversations as clients send them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/chat_template.h"

namespace cascade {

// What templates want of calls differs: it is found out by rendering a small conversation.
// Immutable; any thread.
class ConversationTemplate {
 public:
  // `tokens`: bos_token, eos_token, ... as the template sees them. Renders at most five times.
  ConversationTemplate(ChatTemplate source, OrderedJson tokens);

  // Renders `variables` (ChatTemplate::render), whose messages are those of OpenAI's API, and the
  // tokens. Their calls become what the template takes:
  // - arguments are an object, where clients send its JSON text; none are an empty one. Text that
  //   is no object stays text or, where the template needs an object, is the only member
  //   "arguments" of one: a model's damaged call does not end a conversation. A template that takes
  //   text only has text;
  // - ids that are not of nine letters and digits become such, if the template takes no others;
  // - the content of a message that only calls is null, if the template asks for that.
  // Errors: as ChatTemplate::render.
  Result<SpannedText> render(OrderedJson variables, int64_t now_unix_s) const;

  const ChatTemplate& source() const { return source_; }

 private:
  void learn();
  void learn_content(OrderedJson variables, const std::string& with_empty);

  ChatTemplate source_;
  OrderedJson tokens_;
  bool wants_text_arguments_ = false;
  bool wants_null_content_ = false;
  bool wants_short_ids_ = false;
};

// Templates of a model that are read; real ones have up to five.
inline constexpr size_t kModelTemplatesMax = 16;

// The templates of a model by their names. Immutable but for add(); any thread after that.
class ModelTemplates {
 public:
  // `loaded`: the template, or why it cannot be used, which choose() tells whoever needs it.
  void add(const std::string& name, Result<ConversationTemplate> loaded);

  // The template for a conversation with `tools`, or without any: "tool_use" for one with, if the
  // model has it, else "default" (transformers' rules). Errors, field "chat_template": kUnsupported
  // if there is none, or the one that there is cannot be used.
  Result<const ConversationTemplate*> choose(bool tools) const;

  // A sentence for each template that cannot be used.
  std::vector<std::string> problems() const;

 private:
  std::map<std::string, Result<ConversationTemplate>> by_name_;
};

// A template from its source, or why it has none.
Result<ConversationTemplate> conversation_template(const Result<std::string>& source,
                                                   const OrderedJson& tokens);

}  // namespace cascade
