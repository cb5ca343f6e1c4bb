// Thoughts are sent under both names that clients look for, reasoning_content and reasoning.
#include "wire/openai/chat.h"

#include "wire/http/sse.h"
#include "wire/openai/constraint.h"
#include "wire/openai/generation_fields.h"
#include "wire/openai/json_text.h"
#include "wire/openai/messages.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

using http::sse_data;

// Refuses known fields whose meaning we cannot provide.
void refuse_unsupported(Fields& fields) {
  fields.refuse("modalities", OrderedJson::array({"text"}), "only text is supported");
  fields.refuse("audio", nullptr, "audio is not supported");
  fields.refuse("web_search_options", nullptr, "web search is not supported");
}

void read_answer(Fields& fields, ChatCall& call) {
  wire::GenerateRequest& request = call.request;
  const auto tokens = read_token_limit(fields, "max_completion_tokens");
  const auto older = read_token_limit(fields, "max_tokens");
  request.max_tokens = tokens ? *tokens : older.value_or(0);
  request.logprobs = fields.boolean("logprobs").value_or(false);
  const auto tops = fields.integer("top_logprobs", 0, wire::kTopLogprobsMax);
  request.top_logprobs = static_cast<int32_t>(tops.value_or(0));
  const bool store = fields.boolean("store").value_or(false);
  request.retain_output = fields.boolean("retain_output").value_or(store);
  if (const OrderedJson* options = fields.object("stream_options")) {
    Fields inner(*options, "stream_options.");
    call.include_usage = inner.boolean("include_usage").value_or(false);
    fields.fail(inner.status());
  }
}

// Refuses a grammar if the beginning of the answer is given: a grammar holds from the first
// character of the answer.
Status check_begun(const ChatCall& call) {
  if (!call.request.continue_final_message || !call.request.grammar) return {};
  return unsupported(call.grammar_param,
                     "cannot be set if the answer continues the assistant's last message");
}

OrderedJson encode_message(const std::string& content, const std::string& reasoning,
                           const std::vector<ToolCall>& calls) {
  OrderedJson message;
  message["role"] = "assistant";
  message["content"] = content.empty() && !calls.empty() ? OrderedJson() : OrderedJson(content);
  message["refusal"] = nullptr;
  if (!reasoning.empty()) {
    message["reasoning_content"] = reasoning;
    message["reasoning"] = reasoning;
  }
  if (!calls.empty()) {
    OrderedJson& list = message["tool_calls"] = OrderedJson::array();
    for (const ToolCall& call : calls) list.push_back(encode(call));
  }
  return message;
}

OrderedJson head(const ReplyContext& context, const char* object) {
  OrderedJson result;
  result["id"] = context.id;
  result["object"] = object;
  result["created"] = context.created;
  result["model"] = context.model;
  result["system_fingerprint"] = context.fingerprint;
  return result;
}

OrderedJson encode_choice(const ChatCall& call, size_t index, const Answer& answer) {
  const wire::Final& final = answer.final;
  std::string content = call.begun + final.text;
  std::vector<ToolCall> calls;
  bool half_call = false;
  if (call.tools) {
    content = call.begun;
    ToolCallParser parser(call.parallel_tool_calls);
    std::vector<AnswerPart> parts = parser.push(final.text);
    for (AnswerPart& part : parser.finish(is_cut(final))) parts.push_back(std::move(part));
    half_call = parser.left_out_call();
    for (AnswerPart& part : parts) {
      content += part.text;
      for (ToolCall& made : part.calls) calls.push_back(std::move(made));
    }
  }
  OrderedJson choice;
  choice["index"] = index;
  choice["message"] = encode_message(content, final.reasoning, calls);
  choice["logprobs"] =
      call.request.logprobs ? encode_logprobs(final, answer.token_texts) : OrderedJson(nullptr);
  choice["finish_reason"] = finish_reason(final, !calls.empty(), half_call);
  return choice;
}

}  // namespace

Result<ChatCall> decode_chat(std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  ChatCall call;
  call.model = fields.text("model").value_or("");
  call.n = read_choices(fields);
  read_messages(fields, "messages", call.request);
  call.request.continue_final_message = read_continuation(fields, call.request.messages);
  read_generation(fields, call.request);
  read_answer(fields, call);
  refuse_unsupported(fields);
  const ToolUse tools = read_tools(fields, /*flat=*/false, call.request);
  call.tools = tools.given;
  call.parallel_tool_calls = tools.parallel;
  call.ignored_tools = tools.ignored;
  const AnswerFormat format = read_answer_format(
      fields,
      read_format(fields, fields.object("response_format"), "response_format", /*nested=*/true));
  RETURN_IF_ERROR(fields.status());
  call.grammar_param = constrain(tools, format, call.request);
  RETURN_IF_ERROR(check_begun(call));
  if (fields.boolean("echo").value_or(false) && call.request.continue_final_message) {
    call.begun = call.request.messages.back().content;
  }
  RETURN_IF_ERROR(fields.status());
  RETURN_IF_ERROR(check_generation(call.request, call.grammar_param));
  return call;
}

std::string encode_chat(const ReplyContext& context, const ChatCall& call,
                        std::span<const Answer> answers) {
  OrderedJson result = head(context, "chat.completion");
  OrderedJson choices = OrderedJson::array();
  for (size_t i = 0; i < answers.size(); ++i) {
    choices.push_back(encode_choice(call, i, answers[i]));
  }
  result["choices"] = std::move(choices);
  result["usage"] = encode_usage(usage_of(answers, call.n));
  add_work(result, answers);
  if (!call.ignored_tools.empty()) result["ignored_tools"] = call.ignored_tools;
  return json_text(result);
}

ChatStream::ChatStream(ReplyContext context, const ChatCall& call)
    : AnswerStream(std::move(context)),
      begun_(call.begun),
      include_usage_(call.include_usage),
      tools_(call.tools),
      logprobs_(call.request.logprobs),
      ignored_tools_(call.ignored_tools),
      choices_(static_cast<size_t>(call.n), Choice{ToolCallParser(call.parallel_tool_calls)}),
      usage_(call.n) {}

OrderedJson ChatStream::chunk(size_t choice, OrderedJson delta) const {
  OrderedJson result = head(context_, "chat.completion.chunk");
  OrderedJson only;
  only["index"] = choice;
  only["delta"] = std::move(delta);
  only["logprobs"] = nullptr;
  only["finish_reason"] = nullptr;
  result["choices"] = OrderedJson::array({std::move(only)});
  if (include_usage_) result["usage"] = nullptr;
  return result;
}

std::string ChatStream::event(size_t choice, OrderedJson delta) const {
  return sse_data(json_text(chunk(choice, std::move(delta))));
}

std::string ChatStream::begin() {
  std::string out;
  for (size_t i = 0; i < choices_.size(); ++i) {
    OrderedJson first = chunk(i, {{"role", "assistant"}, {"content", begun_}});
    if (i == 0 && !ignored_tools_.empty()) first["ignored_tools"] = ignored_tools_;
    out += sse_data(json_text(first));
  }
  return out;
}

std::string ChatStream::delta(size_t choice, const wire::Delta& delta) {
  if (delta.text.empty()) return "";
  if (delta.reasoning) {
    return event(choice, {{"reasoning_content", delta.text}, {"reasoning", delta.text}});
  }
  if (!tools_) return event(choice, {{"content", delta.text}});
  return parts(choice, choices_[choice].parser.push(delta.text));
}

// A call's first delta has its index, id and name; its arguments follow.
std::string ChatStream::parts(size_t choice, const std::vector<AnswerPart>& parts) {
  std::string out;
  int64_t& calls = choices_[choice].calls;
  for (const AnswerPart& part : parts) {
    if (!part.text.empty()) out += event(choice, {{"content", part.text}});
    for (const ToolCall& call : part.calls) {
      OrderedJson first = encode(call);
      first["index"] = calls;
      first["function"]["arguments"] = "";
      out += event(choice, {{"tool_calls", OrderedJson::array({std::move(first)})}});
      OrderedJson rest;
      rest["index"] = calls++;
      rest["function"]["arguments"] = call.arguments;
      out += event(choice, {{"tool_calls", OrderedJson::array({std::move(rest)})}});
    }
  }
  return out;
}

std::string ChatStream::end(size_t choice, const Answer& answer) {
  std::string out =
      tools_ ? parts(choice, choices_[choice].parser.finish(is_cut(answer.final))) : "";
  OrderedJson last = chunk(choice, OrderedJson::object());
  OrderedJson& only = last["choices"][0];
  if (logprobs_) only["logprobs"] = encode_logprobs(answer.final, answer.token_texts);
  only["finish_reason"] = finish_reason(answer.final, choices_[choice].calls > 0,
                                        choices_[choice].parser.left_out_call());
  add_work(last, answer.final);
  usage_.add(choice, answer.final.usage);
  return out + sse_data(json_text(last));
}

std::string ChatStream::done() {
  std::string out;
  if (include_usage_) {
    OrderedJson last = head(context_, "chat.completion.chunk");
    last["choices"] = OrderedJson::array();
    last["usage"] = encode_usage(usage_.usage());
    out += sse_data(json_text(last));
  }
  return out + sse_data("[DONE]");
}

std::string ChatStream::fail(const ApiError& error) {
  return sse_data(encode(error));
}

}  // namespace cascade::openai
