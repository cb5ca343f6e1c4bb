// Rendering with stand-ins: a verbatim message and the message that will follow are rendered as
// words that nobody writes, then replaced or cut off in the rendered text.
#include "model/conversation.h"

#include <algorithm>

#include "base/random.h"
#include "model/calls/call_history.h"
#include "model/harmony.h"
#include "model/harmony_history.h"

namespace cascade {
namespace {

// Words that stand for messages while the template is rendered: private-use characters around a
// name, which templates pass on unchanged (no white space to strip). The name is drawn anew for
// each conversation, so that no message has it, neither by accident nor because a client guessed
// it.
class StandIns {
 public:
  std::string of(size_t message) const {
    return "\xEE\x80\x80" + name_ + '_' + std::to_string(message) + "\xEE\x80\x81";
  }

 private:
  const std::string name_ = random_id("cascade");
};

Result<SpannedText> render(const ConversationContext& context, const StandIns& stand_ins,
                           std::span<const ChatMessage> messages, bool add_generation_prompt) {
  ASSIGN_OR_RETURN(const ConversationTemplate* chosen,
                   context.templates.choose(/*tools=*/!context.tools.is_null()));
  const bool is_harmony = HarmonyTokens::of(context.tokenizer).has_value();
  const bool has_tools = !context.tools.is_null();
  const bool has_own_calls =
      has_tools && !is_harmony && context.templates.call_form() != CallForm::kJson;
  OrderedJson variables;
  OrderedJson& list = variables["messages"] = OrderedJson::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    OrderedJson entry;
    entry["role"] = message.role;
    entry["content"] = message.verbatim ? stand_ins.of(i) : message.content;
    if (!message.reasoning.empty()) entry["reasoning_content"] = message.reasoning;
    if (!message.name.empty()) entry["name"] = message.name;
    const char* const id = message.role == "assistant" ? kCallIdPrefix : "tool_call_id";
    const bool has_id = message.role != "assistant" || has_own_calls;
    if (has_id && !message.tool_call_id.empty()) entry[id] = message.tool_call_id;
    if (!message.tool_calls.empty()) {
      ASSIGN_OR_RETURN(
          entry["tool_calls"],
          parse_ordered_json(message.tool_calls, "messages[" + std::to_string(i) + "].tool_calls"));
    }
    list.push_back(std::move(entry));
  }
  if (is_harmony) {
    list = harmony_messages(list, has_tools);
  } else if (has_own_calls) {
    for (OrderedJson& message : list) {
      if (message["role"] == "assistant") calls_from_content(message);
    }
    name_results(list);
  }
  variables["tools"] = is_harmony ? harmony_tools(context.tools) : context.tools;
  variables["documents"] = nullptr;
  variables["add_generation_prompt"] = add_generation_prompt;
  if (context.thinking) variables["enable_thinking"] = *context.thinking;
  if (context.reasoning_effort) variables["reasoning_effort"] = *context.reasoning_effort;
  return chosen->render(std::move(variables), context.now_unix_s);
}

// Appends the text of a verbatim message. Its think tokens are recognised; other special tokens are
// not, because a model can be talked into spelling those.
void append_verbatim(SpannedText& out, std::string_view text, const Tokenizer& tokenizer) {
  struct Mark {
    std::string token;
    size_t next;  // where the token occurs next, or npos, so that each byte is searched once
  };
  std::vector<Mark> marks;
  if (const auto think = tokenizer.think_tokens()) {
    for (const int32_t id : {think->open, think->close}) {
      std::string token = tokenizer.decode(std::span(&id, 1), /*skip_special=*/false);
      const size_t first = text.find(token);
      marks.push_back({std::move(token), first});
    }
  }
  size_t done = 0;
  while (true) {
    const auto mark = std::ranges::min_element(marks, {}, &Mark::next);
    if (mark == marks.end() || mark->next == std::string_view::npos) break;
    append_span(out, text.substr(done, mark->next - done), false);
    append_span(out, mark->token, true);
    done = mark->next + mark->token.size();
    mark->next = text.find(mark->token, done);
  }
  append_span(out, text.substr(done), false);
}

// Puts verbatim messages in the place of their stand-ins. `text` is split at every stand-in. A
// template that drops or doubles a stand-in cannot keep its message as it is.
Result<SpannedText> replace_stand_ins(const ConversationContext& context, SpannedText text,
                                      const StandIns& stand_ins,
                                      std::span<const ChatMessage> messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].verbatim) continue;
    // Its marks would have to be recognised, and a model can be talked into spelling those.
    if (HarmonyTokens::of(context.tokenizer)) {
      return unsupported("think_policy", "\"keep\" does not work with models that write harmony");
    }
    const std::string mark = stand_ins.of(i);
    SpannedText replaced;
    int found = 0;
    for (const TextSpan& span : text) {
      size_t begin = 0;
      for (size_t at; !span.trusted && (at = span.text.find(mark, begin)) != std::string::npos;
           begin = at + mark.size()) {
        append_span(replaced, std::string_view(span.text).substr(begin, at - begin), false);
        append_verbatim(replaced, messages[i].content, context.tokenizer);
        ++found;
      }
      append_span(replaced, std::string_view(span.text).substr(begin), span.trusted);
    }
    if (found != 1) {
      return unsupported("think_policy", "\"keep\" does not work with this model's chat template");
    }
    text = std::move(replaced);
  }
  return text;
}

// How many bytes of `a` and `b` agree from the start, in whole characters.
size_t common_bytes(std::string_view a, std::string_view b) {
  auto n = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  while (n > 0 && n < a.size() && (static_cast<uint8_t>(a[n]) & 0xC0) == 0x80) --n;
  return n;
}

// The first `bytes` bytes of `text`.
SpannedText cut(const SpannedText& text, size_t bytes) {
  SpannedText kept;
  for (const TextSpan& span : text) {
    const size_t take = std::min(bytes, span.text.size());
    append_span(kept, std::string_view(span.text).substr(0, take), span.trusted);
    bytes -= take;
  }
  return kept;
}

bool ends_inside_think(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  if (const auto reader = harmony_reader(tokenizer, ids)) {
    return reader->part() == HarmonyPart::kThoughts;
  }
  const auto think = tokenizer.think_tokens();
  if (!think) return false;
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    if (*id == think->open) return true;
    if (*id == think->close) return false;
    // Everything before this token belongs to an earlier message; a block left open there does not
    // count.
    if (tokenizer.is_special(*id)) return false;
  }
  return false;
}

// The part of the rendered conversation that does not depend on the message that follows; verbatim
// messages are still stand-ins.
Result<SpannedText> stable_history(const ConversationContext& context, const StandIns& stand_ins,
                                   std::span<const ChatMessage> messages,
                                   const std::string& follower_role = "user") {
  std::vector<ChatMessage> followed(messages.begin(), messages.end());
  followed.push_back(
      {.role = follower_role, .content = stand_ins.of(messages.size()), .reasoning = {}});
  ASSIGN_OR_RETURN(SpannedText text,
                   render(context, stand_ins, followed, /*add_generation_prompt=*/false));
  const size_t follower = plain_text(text).find(stand_ins.of(messages.size()));
  if (follower == std::string::npos) {
    return unsupported("chat_template",
                       "does not render " + follower_role + " messages as they are");
  }
  return cut(text, follower);
}

// The conversation up to the text of its last message, the assistant's. In `answered`, `mark`
// stands for that text. `begun` is that message as it was given. If it is verbatim, its own text
// has the thoughts and everything else, as in `history`. Then the conversation is taken from
// `history`, in which `mark` also stands for the text.
Result<SpannedText> before_answer(const ConversationContext& context, const StandIns& stand_ins,
                                  std::span<const ChatMessage> answered, const std::string& mark,
                                  const ChatMessage& begun, const Result<SpannedText>& history) {
  SpannedText text;
  if (begun.verbatim) {
    if (!history.ok()) return history.error();
    text = *history;
  } else {
    ASSIGN_OR_RETURN(text, render(context, stand_ins, answered, /*add_generation_prompt=*/false));
  }
  const size_t begin = plain_text(text).find(mark);
  if (begin == std::string::npos) {
    return unsupported("continue_final_message", "does not work with this model's chat template");
  }
  return cut(text, begin);
}

}  // namespace

Result<EncodedPrompt> encode_prompt(const ConversationContext& context,
                                    std::span<const ChatMessage> messages, bool goes_on) {
  const StandIns stand_ins;
  // The form of an answer in history shows which part of the generation prompt is temporary.
  std::vector<ChatMessage> answered(messages.begin(), messages.end());
  if (!goes_on) answered.push_back({.role = "assistant", .content = {}, .reasoning = {}});
  const std::string mark = stand_ins.of(answered.size() - 1);
  const ChatMessage begun = answered.back();
  answered.back().content = mark;
  answered.back().verbatim = false;
  const auto history = stable_history(context, stand_ins, answered);

  SpannedText with_prompt;
  if (goes_on) {
    ASSIGN_OR_RETURN(with_prompt,
                     before_answer(context, stand_ins, answered, mark, begun, history));
    messages = messages.first(messages.size() - 1);
  } else {
    ASSIGN_OR_RETURN(with_prompt, render(context, stand_ins, messages, true));
  }
  EncodedPrompt prompt;
  if (history.ok()) {
    const std::string rendered = plain_text(with_prompt), kept = plain_text(*history);
    const size_t answer = kept.find(mark);
    const size_t shared = common_bytes(rendered, std::string_view(kept).substr(0, answer));
    if (shared == answer) prompt.generation_prefix = rendered.substr(shared);
  }
  if (begun.verbatim) {
    append_verbatim(with_prompt, begun.content, context.tokenizer);
  } else {
    append_span(with_prompt, begun.content, false);
  }
  ASSIGN_OR_RETURN(with_prompt,
                   replace_stand_ins(context, std::move(with_prompt), stand_ins, messages));
  ASSIGN_OR_RETURN(prompt.token_ids, context.tokenizer.encode(with_prompt, false));
  prompt.text = plain_text(with_prompt);
  if (prompt.token_ids.empty()) return invalid_argument("messages", "the prompt is empty");
  prompt.inside_think = ends_inside_think(context.tokenizer, prompt.token_ids);
  return prompt;
}

Result<std::vector<int32_t>> encode_history(const ConversationContext& context,
                                            std::span<const ChatMessage> messages,
                                            const std::string& follower) {
  const StandIns stand_ins;
  ASSIGN_OR_RETURN(SpannedText text, stable_history(context, stand_ins, messages, follower));
  ASSIGN_OR_RETURN(text, replace_stand_ins(context, std::move(text), stand_ins, messages));
  ASSIGN_OR_RETURN(std::vector<int32_t> ids, context.tokenizer.encode(text, false));
  // After the last special token, ids may still change with the text that follows, because merges
  // run over both.
  while (!ids.empty() && !context.tokenizer.is_special(ids.back())) ids.pop_back();
  return ids;
}

bool calls_tool(std::string_view answer) {
  const size_t end = answer.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return false;
  answer = answer.substr(0, end + 1);
  const size_t begin = answer.find_first_not_of(" \t\r\n");
  const std::string_view text = answer.substr(begin);
  if (text.ends_with("</tool_call>") || text.ends_with("</function_call>")) return true;
  return text.starts_with("[TOOL_CALLS]") || text.starts_with("<|tool_call|>") ||
         text.starts_with("<|python_tag|>");
}

Result<std::vector<int32_t>> encode_beginning(const ConversationContext& context,
                                              std::span<const ChatMessage> messages) {
  const StandIns stand_ins;
  std::vector<ChatMessage> open(messages.begin(), messages.end());
  const std::string rest = stand_ins.of(open.size());
  open.back().content += "\n\n" + rest;
  ASSIGN_OR_RETURN(SpannedText text, render(context, stand_ins, open, true));
  const size_t end = plain_text(text).find(rest);
  if (end == std::string::npos) {
    return unsupported("chat_template", "does not render user messages as they are");
  }
  ASSIGN_OR_RETURN(text, replace_stand_ins(context, cut(text, end), stand_ins, messages));
  // Goes on with a letter, a digit and a sign: ids that all three share do not merge with what
  // follows.
  std::optional<std::vector<int32_t>> shared;
  for (const char* next : {"A", "0", "("}) {
    SpannedText whole = text;
    append_span(whole, next, false);
    ASSIGN_OR_RETURN(std::vector<int32_t> ids, context.tokenizer.encode(whole, false));
    if (shared) ids.erase(std::ranges::mismatch(ids, *shared).in1, ids.end());
    shared = std::move(ids);
  }
  return *std::move(shared);
}

Result<std::vector<int32_t>> encode_raw(const Tokenizer& tokenizer, const std::string& text) {
  ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer.encode(text, false, true));
  if (ids.empty()) return invalid_argument("prompt", "is empty");
  return ids;
}

}  // namespace cascade
