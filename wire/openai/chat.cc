// Thoughts go out under both names that clients look for, reasoning_content and reasoning.
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

// What is known and has a meaning that we cannot give it.
void refuse_unsupported(Fields& fields) {
  fields.refuse("n", 1, "only one answer a request");
  fields.refuse("modalities", OrderedJson::array({"text"}), "only text is supported");
  fields.refuse("audio", nullptr, "audio is not supported");
  fields.refuse("web_search_options", nullptr, "there is no web search");
}

void read_answer(Fields& fields, ChatCall& call) {
  wire::GenerateRequest& request = call.request;
  const auto tokens = fields.integer("max_completion_tokens", 1, INT32_MAX);
  const auto older = fields.integer("max_tokens", 1, INT32_MAX);
  request.max_tokens = static_cast<int32_t>(tokens ? *tokens : older.value_or(0));
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

}  // namespace

Result<ChatCall> decode_chat(std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  ChatCall call;
  call.model = fields.text("model").value_or("");
  read_messages(fields, "messages", call.request);
  read_generation(fields, call.request);
  read_answer(fields, call);
  refuse_unsupported(fields);
  const ToolUse tools = read_tools(fields, /*flat=*/false, call.request);
  call.tools = tools.given;
  call.parallel_tool_calls = tools.parallel;
  const AnswerFormat format =
      read_format(fields, fields.object("response_format"), "response_format", /*nested=*/true);
  RETURN_IF_ERROR(fields.status());
  call.grammar_param = constrain(tools, format, call.request);
  RETURN_IF_ERROR(check_generation(call.request, call.grammar_param));
  return call;
}

std::string encode_chat(const ReplyContext& context, const ChatCall& call, const wire::Final& final,
                        std::span<const std::string> pieces) {
  std::string content = final.text;
  std::vector<ToolCall> calls;
  if (call.tools) {
    content.clear();
    ToolCallParser parser(call.parallel_tool_calls);
    std::vector<AnswerPart> parts = parser.push(final.text);
    for (AnswerPart& part : parser.finish()) parts.push_back(std::move(part));
    for (AnswerPart& part : parts) {
      content += part.text;
      for (ToolCall& made : part.calls) calls.push_back(std::move(made));
    }
  }
  OrderedJson result = head(context, "chat.completion");
  OrderedJson choice;
  choice["index"] = 0;
  choice["message"] = encode_message(content, final.reasoning, calls);
  choice["logprobs"] =
      call.request.logprobs ? encode_logprobs(final, pieces) : OrderedJson(nullptr);
  choice["finish_reason"] = finish_reason(final, !calls.empty());
  result["choices"] = OrderedJson::array({std::move(choice)});
  result["usage"] = encode_usage(final.usage);
  result["timings"] = encode_timings(final);
  if (!final.output_chunk_id.empty()) result["output_id"] = final.output_chunk_id;
  return json_text(result);
}

ChatStream::ChatStream(ReplyContext context, const ChatCall& call)
    : context_(std::move(context)),
      include_usage_(call.include_usage),
      tools_(call.tools),
      logprobs_(call.request.logprobs),
      parser_(call.parallel_tool_calls) {}

std::string ChatStream::chunk(OrderedJson delta, const OrderedJson& finish, OrderedJson logprobs,
                              OrderedJson timings) {
  OrderedJson result = head(context_, "chat.completion.chunk");
  OrderedJson choice;
  choice["index"] = 0;
  choice["delta"] = std::move(delta);
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = finish;
  result["choices"] = OrderedJson::array({std::move(choice)});
  if (include_usage_) result["usage"] = nullptr;
  if (!timings.is_null()) result["timings"] = std::move(timings);
  return sse_data(json_text(result));
}

std::string ChatStream::begin() {
  return chunk({{"role", "assistant"}, {"content", ""}});
}

std::string ChatStream::delta(const wire::Delta& delta) {
  if (delta.text.empty()) return "";
  if (delta.reasoning) {
    return chunk({{"reasoning_content", delta.text}, {"reasoning", delta.text}});
  }
  if (!tools_) return chunk({{"content", delta.text}});
  return parts(parser_.push(delta.text));
}

// A call's first delta has its index, id and name; its arguments follow.
std::string ChatStream::parts(const std::vector<AnswerPart>& parts) {
  std::string out;
  for (const AnswerPart& part : parts) {
    if (!part.text.empty()) out += chunk({{"content", part.text}});
    for (const ToolCall& call : part.calls) {
      OrderedJson first = encode(call);
      first["index"] = calls_;
      first["function"]["arguments"] = "";
      out += chunk({{"tool_calls", OrderedJson::array({std::move(first)})}});
      OrderedJson rest;
      rest["index"] = calls_++;
      rest["function"]["arguments"] = call.arguments;
      out += chunk({{"tool_calls", OrderedJson::array({std::move(rest)})}});
    }
  }
  return out;
}

std::string ChatStream::end(const wire::Final& final, std::span<const std::string> pieces) {
  std::string out = tools_ ? parts(parser_.finish()) : "";
  OrderedJson logprobs = logprobs_ ? encode_logprobs(final, pieces) : OrderedJson(nullptr);
  out += chunk(OrderedJson::object(), finish_reason(final, calls_ > 0), std::move(logprobs),
               encode_timings(final));
  if (include_usage_) {
    OrderedJson last = head(context_, "chat.completion.chunk");
    last["choices"] = OrderedJson::array();
    last["usage"] = encode_usage(final.usage);
    out += sse_data(json_text(last));
  }
  return out + sse_data("[DONE]");
}

std::string ChatStream::fail(const ApiError& error) {
  return sse_data(encode(error));
}

}  // namespace cascade::openai
