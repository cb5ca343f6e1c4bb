// What a chat template expects of the conversations that it renders.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "model/calls/call_form.h"
#include "model/chat_template.h"

namespace cascade {

// Where a template reads the thoughts of an answer.
enum class ThoughtsIn : uint8_t {
  kReasoningContent,  // "reasoning_content" of the message
  kThinking,          // "thinking" of the message
  kContentParts,      // a part of the content, {"type": "thinking", "thinking": TEXT}
};

// Models write text before their calls. This says where the text of such a message is put.
enum class TextBesideCalls : uint8_t {
  kStays,
  kOwnMessage,  // becomes a message before that of the calls
  kIsLeftOut,   // the template cannot say it: it would end the turn after the calls' results
};

struct TemplateHabits {
  bool wants_text_arguments = false;  // arguments are JSON text, not an object
  bool wants_null_content = false;    // content of a message that only calls is null
  bool wants_short_ids = false;       // ids are nine letters and digits
  ThoughtsIn thoughts = ThoughtsIn::kReasoningContent;
  TextBesideCalls text = TextBesideCalls::kStays;
  CallForm calls = CallForm::kJson;
};

// Finds out by rendering small conversations, at most ten. `tokens`: an object of bos_token,
// eos_token, ... as the template sees them.
TemplateHabits learn_habits(const ChatTemplate& source, const OrderedJson& tokens);

// Changes messages, those of OpenAI's API, to what a template with these habits expects of texts
// and thoughts.
void adapt_texts(OrderedJson& messages, const TemplateHabits& habits);

}  // namespace cascade
