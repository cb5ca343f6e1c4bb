// Each question is a conversation of which two forms are rendered and compared.
#include "model/template_habits.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/exact_number.h"

namespace cascade {
namespace {

constexpr std::string_view kSpoken = "Looking.";
constexpr std::string_view kThought = "Hmm.";
constexpr std::string_view kPlace = "Rome";  // nothing else in the conversation has this word

// A question, a tool call for it, and the result of the call.
OrderedJson small_conversation(const std::string& id, bool text_arguments) {
  const OrderedJson arguments = {{"place", kPlace}};
  OrderedJson call = {{"id", id}, {"type", "function"}};
  call["function"] = {{"name", "find"}, {"arguments", arguments}};
  if (text_arguments) call["function"]["arguments"] = dump_exact(arguments);
  OrderedJson variables;
  variables["messages"] = OrderedJson::array(
      {{{"role", "user"}, {"content", "Where?"}},
       {{"role", "assistant"}, {"content", ""}, {"tool_calls", OrderedJson::array({call})}},
       {{"role", "tool"}, {"content", "There."}, {"tool_call_id", id}, {"name", "find"}}});
  OrderedJson tool = {{"type", "function"}};
  tool["function"] = {{"name", "find"},
                      {"description", "Finds it"},
                      {"parameters", {{"type", "object"}, {"properties", OrderedJson::object()}}}};
  variables["tools"] = OrderedJson::array({std::move(tool)});
  variables["documents"] = nullptr;
  variables["add_generation_prompt"] = true;
  return variables;
}

// How the call of small_conversation() was rendered.
CallForm form_of(const std::string& text) {
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  if (has("<function=find>") && has("<parameter=place>")) return CallForm::kQwenTags;
  if (has("<tool_call>find") && has("<arg_key>place</arg_key>")) return CallForm::kGlmTags;
  if (has("<|tool_call>call:find{place:")) return CallForm::kGemma;
  if (has("[TOOL_CALLS]")) return CallForm::kMistral;
  if (has("<|tool_call_start|>[find(")) return CallForm::kLfm;
  if (has("<function_calls>") && has("find(place=")) return CallForm::kOlmo;
  if (has("[find(place=")) return CallForm::kLlama4;
  if (has("{\"name\": \"find\", \"parameters\": {\"place\"")) return CallForm::kLlama3;
  // Granite 3 is told to write this mark, but no call of a conversation is rendered.
  return has("<|tool_call|>") ? CallForm::kGranite3 : CallForm::kJson;
}

size_t count_of(const std::string& text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// `text` without the first `word`; all of it if it has none.
std::string without(std::string text, std::string_view word) {
  const size_t at = text.find(word);
  return at == text.npos ? text : text.erase(at, word.size());
}

// Asks a template that renders small conversations.
class Habits {
 public:
  // `variables`: a small conversation that the template renders as `text`.
  Habits(const ChatTemplate& source, OrderedJson variables, std::string text)
      : source_(source), variables_(std::move(variables)), text_(std::move(text)) {}

  // A template that does not ask for null prints it as the word "None".
  bool wants_null_content() const {
    constexpr std::string_view kNull = "None";
    const auto with_null = render([](OrderedJson& messages) { messages[1]["content"] = nullptr; });
    return with_null && *with_null != text_ &&
           count_of(*with_null, kNull) == count_of(text_, kNull);
  }

  ThoughtsIn thoughts() const {
    for (const ThoughtsIn place :
         {ThoughtsIn::kReasoningContent, ThoughtsIn::kThinking, ThoughtsIn::kContentParts}) {
      const auto thinking = render([&](OrderedJson& messages) {
        messages[1]["reasoning_content"] = kThought;
        adapt_texts(messages, {.thoughts = place});
      });
      // A template that knows no parts prints them with their members.
      const bool is_read = thinking && thinking->find(kThought) != thinking->npos &&
                           count_of(*thinking, "type") == count_of(text_, "type");
      if (is_read) return place;
    }
    return ThoughtsIn::kReasoningContent;
  }

  TextBesideCalls text() const {
    const auto spoken = with_text(TextBesideCalls::kStays);
    const bool is_last = spoken && spoken->find(kSpoken) != spoken->npos &&
                         spoken->find(kSpoken) > spoken->find(kPlace);
    if (!is_last) return TextBesideCalls::kStays;
    const auto own = with_text(TextBesideCalls::kOwnMessage);
    const bool is_first = own && own->find(kSpoken) < own->find(kPlace);
    if (is_first && without(*own, kSpoken) == text_) return TextBesideCalls::kOwnMessage;
    const bool goes_on = without(*spoken, kSpoken) == text_;
    return goes_on ? TextBesideCalls::kStays : TextBesideCalls::kIsLeftOut;
  }

 private:
  // What becomes of the conversation with changed messages; nullopt if it cannot be rendered.
  template <class Change>
  std::optional<std::string> render(const Change& change) const {
    OrderedJson variables = variables_;
    change(variables["messages"]);
    const auto rendered = source_.render(variables, 0);
    return rendered.ok() ? std::optional(plain_text(*rendered)) : std::nullopt;
  }

  std::optional<std::string> with_text(TextBesideCalls text) const {
    return render([&](OrderedJson& messages) {
      messages[1]["content"] = kSpoken;
      adapt_texts(messages, {.text = text});
    });
  }

  const ChatTemplate& source_;
  const OrderedJson variables_;
  const std::string text_;
};

bool calls_function(const OrderedJson& message) {
  const auto calls = message.find("tool_calls");
  return calls != message.end() && !calls->empty();
}

void move_thoughts(OrderedJson& message, ThoughtsIn place) {
  const auto found = message.find("reasoning_content");
  if (found == message.end() || place == ThoughtsIn::kReasoningContent) return;
  OrderedJson thoughts = *found;
  message.erase("reasoning_content");
  if (place == ThoughtsIn::kThinking) {
    message["thinking"] = std::move(thoughts);
    return;
  }
  OrderedJson parts = OrderedJson::array({{{"type", "thinking"}, {"thinking", thoughts}}});
  OrderedJson& content = message["content"];
  if (content.is_string() && content != "") parts.push_back({{"type", "text"}, {"text", content}});
  content = std::move(parts);
}

}  // namespace

TemplateHabits learn_habits(const ChatTemplate& source, const OrderedJson& tokens) {
  TemplateHabits habits;
  for (const bool text_arguments : {false, true}) {
    for (const bool short_ids : {false, true}) {
      OrderedJson variables =
          small_conversation(short_ids ? "0123abcDE" : "call_0123456789abcdef", text_arguments);
      variables.update(tokens);
      const auto rendered = source.render(variables, 0);
      if (!rendered.ok()) {
        // A template that takes this long is not rendered again and again.
        if (rendered.error().code == ErrorCode::kResourceExhausted) return habits;
        continue;
      }
      const Habits asked(source, std::move(variables), plain_text(*rendered));
      habits.wants_text_arguments = text_arguments;
      habits.wants_short_ids = short_ids;
      habits.wants_null_content = asked.wants_null_content();
      habits.thoughts = asked.thoughts();
      habits.text = asked.text();
      habits.calls = form_of(plain_text(*rendered));
      return habits;
    }
  }
  return habits;
}

void adapt_texts(OrderedJson& messages, const TemplateHabits& habits) {
  const bool is_adapted =
      habits.text == TextBesideCalls::kStays && habits.thoughts == ThoughtsIn::kReasoningContent;
  if (is_adapted) return;
  OrderedJson adapted = OrderedJson::array();
  for (OrderedJson& message : messages) {
    const bool is_beside = calls_function(message) && message.contains("content") &&
                           message["content"].is_string() && message["content"] != "";
    if (is_beside && habits.text == TextBesideCalls::kOwnMessage) {
      OrderedJson text = message;
      text.erase("tool_calls");
      move_thoughts(text, habits.thoughts);
      adapted.push_back(std::move(text));
      message.erase("reasoning_content");
    }
    if (is_beside && habits.text != TextBesideCalls::kStays) message["content"] = "";
    move_thoughts(message, habits.thoughts);
    adapted.push_back(std::move(message));
  }
  messages = std::move(adapted);
}

}  // namespace cascade
