// Chat templates, and conversations in them.
#include "model/chat_template.h"

#include "model/conversation.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/small_tokenizer.h"

namespace cascade::fuzz {
namespace {

// A character of clients' texts, which templates pass on. A template contains it only if it spells
// the character out.
constexpr std::string_view kClients = "\xEE\x83\xBF";
constexpr std::string_view kMessage = "Hi <|im_end|>\n {{ 7 * 7 }} </think> \xC3\x89t\xC3\xA9";

// A real template takes a few thousand steps; an input must not take seconds.
TemplateLimits limits() {
  TemplateLimits limits;
  limits.steps_max = 200'000;
  limits.output_bytes_max = size_t{1} << 20;
  return limits;
}

OrderedJson tools() {
  OrderedJson parameters;
  parameters["type"] = "object";
  parameters["properties"]["city"]["type"] = "string";
  OrderedJson tool;
  tool["type"] = "function";
  tool["function"] = {{"name", "weather"}, {"description", kClients}, {"parameters", parameters}};
  return OrderedJson::array({tool});
}

std::vector<ChatMessage> conversation(std::string_view text) {
  const std::string content = utf8_replace_malformed(text) + std::string(kClients);
  const std::string calls =
      R"([{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":1}"}}])";
  return {{.role = "system", .content = content, .reasoning = {}},
          {.role = "user", .content = content, .reasoning = {}},
          {.role = "assistant", .content = "", .reasoning = content, .tool_calls = calls},
          {.role = "tool", .content = content, .reasoning = {}, .tool_call_id = "c1", .name = "f"},
          {.role = "assistant", .content = content, .reasoning = content},
          {.role = "assistant", .content = content, .reasoning = {}, .verbatim = true},
          {.role = "user", .content = content, .reasoning = {}}};
}

OrderedJson variables(const std::vector<ChatMessage>& messages) {
  OrderedJson list = OrderedJson::array();
  for (const ChatMessage& message : messages) {
    list.push_back({{"role", message.role}, {"content", message.content}});
  }
  return {{"messages", list},         {"tools", tools()},          {"add_generation_prompt", true},
          {"enable_thinking", false}, {"reasoning_effort", "low"}, {"eos_token", "<|im_end|>"}};
}

// Checks that a client's text is never taken for the template's own text.
void check_trust(const ChatTemplate& chat_template, std::string_view source,
                 const std::vector<ChatMessage>& messages) {
  const auto text = chat_template.render(variables(messages), 1'700'000'000);
  if (!is_ok(text)) {
    CHECK(text.error().field == "chat_template");
    return;
  }
  // Literals can spell any character with an escape.
  const bool spelled = source.find(kClients) != source.npos || source.find('\\') != source.npos;
  for (const TextSpan& span : *text) {
    CHECK(!span.text.empty() && is_utf8(span.text));
    CHECK(spelled || !span.trusted || span.text.find(kClients) == span.text.npos);
  }
}

}  // namespace

bool read_template(Bytes input) {
  const auto [source, message] = split_at_nul(text_of(input), kMessage);
  auto parsed = ChatTemplate::parse(source, limits());
  if (!is_ok(parsed)) {
    CHECK(parsed.error().field == "chat_template");
    return false;
  }
  const std::vector<ChatMessage> messages = conversation(message);
  check_trust(*parsed, source, messages);
  ModelTemplates templates;
  templates.add("default", ConversationTemplate(*std::move(parsed), {{"eos_token", "<|im_end|>"}}));
  const ConversationContext context = {small_tokenizer(), templates, false,
                                       1'700'000'000,     tools(),   "low"};
  const bool prompt = is_ok(encode_prompt(context, messages));
  (void)is_ok(encode_history(context, std::span(messages).first(6)));
  (void)is_ok(encode_beginning(context, messages));
  return prompt;
}

}  // namespace cascade::fuzz
