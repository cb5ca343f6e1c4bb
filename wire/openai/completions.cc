// Thoughts of a model that thinks without being asked are in a member of their own.
#include "wire/openai/completions.h"

#include "wire/http/sse.h"
#include "wire/openai/generation_fields.h"
#include "wire/openai/json_text.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

using http::sse_data;

void read_prompt(Fields& fields, wire::GenerateRequest& request) {
  const OrderedJson* prompt = fields.find("prompt");
  if (prompt == nullptr) return fields.fail("prompt", "is missing");
  if (prompt->is_array() && prompt->size() == 1 && prompt->front().is_string()) {
    prompt = &prompt->front();
  }
  if (prompt->is_string()) {
    request.prompt = prompt->get<std::string>();
  } else {
    fields.fail(unsupported("prompt", "must be one string"));
  }
}

OrderedJson head(const ReplyContext& context) {
  OrderedJson result;
  result["id"] = context.id;
  result["object"] = "text_completion";
  result["created"] = context.created;
  result["model"] = context.model;
  result["system_fingerprint"] = context.fingerprint;
  return result;
}

OrderedJson choice(const std::string& text, const std::string& reasoning) {
  OrderedJson result;
  result["index"] = 0;
  result["text"] = text;
  if (!reasoning.empty()) result["reasoning"] = reasoning;
  result["logprobs"] = nullptr;
  result["finish_reason"] = nullptr;
  return result;
}

}  // namespace

Result<CompletionCall> decode_completion(std::string_view body) {
  ASSIGN_OR_RETURN(const OrderedJson json, parse_body(body));
  Fields fields(json);
  CompletionCall call;
  wire::GenerateRequest& request = call.request;
  call.model = fields.text("model").value_or("");
  read_prompt(fields, request);
  read_generation(fields, request);
  request.max_tokens = static_cast<int32_t>(fields.integer("max_tokens", 1, INT32_MAX).value_or(0));
  if (const auto tops = fields.integer("logprobs", 0, wire::kTopLogprobsMax)) {
    request.logprobs = true;
    request.top_logprobs = static_cast<int32_t>(*tops);
  }
  request.retain_output = fields.boolean("retain_output").value_or(false);
  if (const OrderedJson* options = fields.object("stream_options")) {
    Fields inner(*options, "stream_options.");
    call.include_usage = inner.boolean("include_usage").value_or(false);
    fields.fail(inner.status());
  }
  fields.refuse("n", 1, "only one answer a request");
  fields.refuse("best_of", 1, "only one answer a request");
  fields.refuse("echo", false, "the prompt is not repeated");
  fields.refuse("suffix", "", "there is no insertion");
  RETURN_IF_ERROR(fields.status());
  RETURN_IF_ERROR(check_generation(request, ""));
  return call;
}

std::string encode_completion(const ReplyContext& context, const CompletionCall& call,
                              const wire::Final& final, std::span<const std::string> pieces) {
  OrderedJson result = head(context);
  OrderedJson only = choice(final.text, final.reasoning);
  if (call.request.logprobs) only["logprobs"] = encode_text_logprobs(final, pieces);
  only["finish_reason"] = finish_reason(final, false);
  result["choices"] = OrderedJson::array({std::move(only)});
  result["usage"] = encode_usage(final.usage);
  result["timings"] = encode_timings(final);
  if (!final.output_chunk_id.empty()) result["output_id"] = final.output_chunk_id;
  return json_text(result);
}

CompletionStream::CompletionStream(ReplyContext context, const CompletionCall& call)
    : context_(std::move(context)),
      include_usage_(call.include_usage),
      logprobs_(call.request.logprobs) {}

std::string CompletionStream::begin() {
  return "";
}

std::string CompletionStream::fail(const ApiError& error) {
  return sse_data(encode(error));
}

std::string CompletionStream::delta(const wire::Delta& delta) {
  OrderedJson result = head(context_);
  OrderedJson only = delta.reasoning ? choice("", delta.text) : choice(delta.text, "");
  result["choices"] = OrderedJson::array({std::move(only)});
  return sse_data(json_text(result));
}

std::string CompletionStream::end(const wire::Final& final, std::span<const std::string> pieces) {
  OrderedJson result = head(context_);
  OrderedJson only = choice("", "");
  if (logprobs_) only["logprobs"] = encode_text_logprobs(final, pieces);
  only["finish_reason"] = finish_reason(final, false);
  result["choices"] = OrderedJson::array({std::move(only)});
  std::string out = sse_data(json_text(result));
  if (include_usage_) {
    OrderedJson last = head(context_);
    last["choices"] = OrderedJson::array();
    last["usage"] = encode_usage(final.usage);
    out += sse_data(json_text(last));
  }
  return out + sse_data("[DONE]");
}

}  // namespace cascade::openai
