// Adapts conversations to a template. If the template cannot render a conversation, the
// conversation is rendered once more with damaged arguments as an object.
#include "model/conversation_template.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/call_id.h"
#include "base/exact_number.h"

namespace cascade {
namespace {

// A short id that is always the same for the same `id`, so that calls and their results still
// belong together.
std::string shortened(const OrderedJson& id) {
  const std::string text = id.is_string() ? id.get<std::string>() : "";
  return is_call_id(text) ? text : call_id_of(text);
}

// Calls `change` with each call of each message.
template <class Change>
void for_each_call(OrderedJson& messages, const Change& change) {
  for (OrderedJson& message : messages) {
    if (!message.contains("tool_calls") || !message["tool_calls"].is_array()) continue;
    for (OrderedJson& call : message["tool_calls"]) {
      if (call.is_object()) change(call);
    }
  }
}

// A tool result that names no call belongs to the first call that has no result yet.
void shorten_ids(OrderedJson& messages) {
  std::deque<std::string> open;
  for_each_call(messages, [&](OrderedJson& call) {
    call["id"] = shortened(call["id"]);
    open.push_back(call["id"].get<std::string>());
  });
  for (OrderedJson& message : messages) {
    if (message.value("role", "") != "tool") continue;
    OrderedJson& id = message["tool_call_id"];
    const bool is_named = id.is_string() && id != "";
    id = is_named || open.empty() ? shortened(id) : open.front();
    const auto answered = std::ranges::find(open, id.get<std::string>());
    if (answered != open.end()) open.erase(answered);
  }
}

// The arguments of a call; null if it has none.
OrderedJson* arguments_of(OrderedJson& call) {
  if (!call.contains("function") || !call["function"].is_object()) return nullptr;
  OrderedJson& function = call["function"];
  return function.contains("arguments") ? &function["arguments"] : nullptr;
}

void write_arguments(OrderedJson& call) {
  OrderedJson* const arguments = arguments_of(call);
  if (arguments == nullptr || arguments->is_string()) return;
  *arguments = dump_exact(*arguments);
}

void parse_arguments(OrderedJson& call) {
  OrderedJson* const arguments = arguments_of(call);
  if (arguments == nullptr) return;
  if (arguments->is_null() || *arguments == "") {
    *arguments = OrderedJson::object();
    return;
  }
  if (!arguments->is_string()) return;
  auto parsed = parse_ordered_json(arguments->get_ref<const std::string&>(), "arguments");
  if (parsed.ok() && parsed->is_null()) parsed = OrderedJson::object();
  if (parsed.ok() && parsed->is_object()) *arguments = *std::move(parsed);
}

// Wraps arguments that are not an object into one. Returns whether there were such arguments.
bool wrap_damaged_arguments(OrderedJson& messages) {
  bool any = false;
  for_each_call(messages, [&](OrderedJson& call) {
    OrderedJson* const arguments = arguments_of(call);
    if (arguments == nullptr || arguments->is_object()) return;
    OrderedJson wrapped = OrderedJson::object();
    wrapped["arguments"] = std::move(*arguments);
    *arguments = std::move(wrapped);
    any = true;
  });
  return any;
}

void clear_content_of_calls(OrderedJson& messages) {
  for (OrderedJson& message : messages) {
    const bool calls = message.contains("tool_calls") && !message["tool_calls"].empty();
    if (calls && message.value("content", OrderedJson()) == "") message["content"] = nullptr;
  }
}

}  // namespace

ConversationTemplate::ConversationTemplate(ChatTemplate source, OrderedJson tokens)
    : source_(std::move(source)),
      tokens_(tokens.is_object() ? std::move(tokens) : OrderedJson::object()),
      habits_(learn_habits(source_, tokens_)) {}

Result<SpannedText> ConversationTemplate::render(OrderedJson variables, int64_t now_unix_s) const {
  variables.update(tokens_);
  OrderedJson& messages = variables["messages"];
  for_each_call(messages, habits_.wants_text_arguments ? write_arguments : parse_arguments);
  if (habits_.wants_short_ids) shorten_ids(messages);
  adapt_texts(messages, habits_);
  if (habits_.wants_null_content) clear_content_of_calls(messages);
  auto text = source_.render(variables, now_unix_s);
  if (text.ok() || text.error().code == ErrorCode::kResourceExhausted) return text;
  if (habits_.wants_text_arguments || !wrap_damaged_arguments(messages)) return text;
  auto again = source_.render(variables, now_unix_s);
  return again.ok() ? std::move(again) : std::move(text);
}

void ModelTemplates::add(const std::string& name, Result<ConversationTemplate> loaded) {
  by_name_.insert_or_assign(name, std::move(loaded));
}

Result<const ConversationTemplate*> ModelTemplates::choose(bool tools) const {
  if (by_name_.empty()) {
    return unsupported("chat_template", "this model has none: only raw prompts work");
  }
  auto found = tools ? by_name_.find("tool_use") : by_name_.end();
  if (found == by_name_.end()) found = by_name_.find("default");
  if (found == by_name_.end()) {
    return unsupported(
        "chat_template",
        "none of this model's is called \"default\": --chat-template FILE says which "
        "counts");
  }
  if (found->second.ok()) return &found->second.value();
  return unsupported("chat_template",
                     "this model's cannot be used: " + found->second.error().message +
                         "; --chat-template FILE replaces it, and raw prompts work");
}

CallForm ModelTemplates::call_form() const {
  const auto chosen = choose(/*tools=*/true);
  return chosen.ok() ? (*chosen)->call_form() : CallForm::kJson;
}

std::vector<std::string> ModelTemplates::problems() const {
  std::vector<std::string> problems;
  for (const auto& [name, loaded] : by_name_) {
    if (loaded.ok()) continue;
    problems.push_back("the chat template \"" + name + "\" cannot be used (" +
                       loaded.error().to_string() +
                       "): conversations that need it are refused; --chat-template FILE replaces "
                       "it");
  }
  return problems;
}

Result<ConversationTemplate> conversation_template(const Result<std::string>& source,
                                                   const OrderedJson& tokens) {
  if (!source.ok()) return source.error();
  ASSIGN_OR_RETURN(ChatTemplate parsed, ChatTemplate::parse(*source));
  return ConversationTemplate(std::move(parsed), tokens);
}

}  // namespace cascade
