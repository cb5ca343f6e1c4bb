// A chat template that takes conversations as clients send them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/chat_template.h"
#include "model/template_habits.h"

namespace cascade {

// Templates expect thoughts and calls in different forms (model/template_habits.h). Immutable; any
// thread.
class ConversationTemplate {
 public:
  // `tokens`: bos_token, eos_token, ... as the template sees them.
  ConversationTemplate(ChatTemplate source, OrderedJson tokens);

  // Renders `variables` (ChatTemplate::render), whose messages are those of OpenAI's API, and the
  // tokens. Tool calls in the messages are changed to the form that the template takes:
  // - Arguments that clients send as JSON text become an object; empty arguments become an empty
  //   object. Text that is not an object stays text. If the template needs an object, such text
  //   becomes the only member, "arguments", of one: a model's damaged call does not end a
  //   conversation. A template that takes only text gets text.
  // - Ids that are not nine letters and digits become such ids, if the template takes no others.
  // - The content of a message that only calls becomes null, if the template asks for that.
  // - Thoughts are where the template reads them; texts beside calls come before the calls.
  // Errors: as ChatTemplate::render.
  Result<SpannedText> render(OrderedJson variables, int64_t now_unix_s) const;

  const ChatTemplate& source() const { return source_; }
  // The form in which the template writes the calls of a conversation, and so the model its own.
  CallForm call_form() const { return habits_.calls; }

 private:
  ChatTemplate source_;
  OrderedJson tokens_;
  TemplateHabits habits_;
};

// How many templates of a model are read; real models have up to five.
inline constexpr size_t kModelTemplatesMax = 16;

// The templates of a model by their names. Immutable except for add(); any thread after that.
class ModelTemplates {
 public:
  // `loaded`: the template, or the reason why it cannot be used, which choose() reports.
  void add(const std::string& name, Result<ConversationTemplate> loaded);

  // The template for a conversation with `tools`, or without any: "tool_use" if there are tools and
  // the model has that template, else "default" (transformers' rules). Errors, field
  // "chat_template": kUnsupported if there is no such template, or it cannot be used.
  Result<const ConversationTemplate*> choose(bool tools) const;

  // That of the template for tools; kJson if there is none.
  CallForm call_form() const;

  // A sentence for each template that cannot be used.
  std::vector<std::string> problems() const;

 private:
  std::map<std::string, Result<ConversationTemplate>> by_name_;
};

// Makes a template from its source. Errors: that of `source`, and those of ChatTemplate::parse.
Result<ConversationTemplate> conversation_template(const Result<std::string>& source,
                                                   const OrderedJson& tokens);

}  // namespace cascade
