// Which status and type each of our errors has.
#include "wire/openai/api_error.h"

#include "base/utf8.h"
#include "wire/openai/json_text.h"

namespace cascade::openai {
namespace {

struct Kind {
  int status;
  const char* type;
};

Kind kind_of(ErrorCode code, int64_t retry_after_ms) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported: return {400, "invalid_request_error"};
    case ErrorCode::kNotFound: return {404, "invalid_request_error"};
    case ErrorCode::kConflict: return {409, "invalid_request_error"};
    // A full queue will have room later, but a prompt that is too large will not fit later either.
    case ErrorCode::kResourceExhausted:
      return retry_after_ms > 0 ? Kind{503, "overloaded_error"}
                                : Kind{400, "invalid_request_error"};
    case ErrorCode::kUnavailable: return {503, "unavailable_error"};
    case ErrorCode::kDeadlineExceeded: return {504, "timeout_error"};
    case ErrorCode::kCancelled:
    case ErrorCode::kDataCorrupt:
    case ErrorCode::kIo:
    case ErrorCode::kInternal: break;
  }
  return {500, "server_error"};
}

// Errors repeat names and types from the request, which may have megabytes.
std::string beginning_of(const std::string& text) {
  constexpr size_t kBytesMax = 1000;
  if (text.size() <= kBytesMax) return text;
  return utf8_replace_malformed(text.substr(0, kBytesMax)) + "...";
}

}  // namespace

ApiError api_error(const Error& error, int64_t retry_after_ms) {
  const Kind kind = kind_of(error.code, retry_after_ms);
  ApiError result;
  result.status = kind.status;
  result.type = kind.type;
  const bool no_model = error.code == ErrorCode::kNotFound && error.field == "model";
  result.code = no_model ? "model_not_found" : to_string(error.code);
  result.param = beginning_of(error.field);
  const std::string named = result.param.empty() ? "" : result.param + ": ";
  result.message = named + beginning_of(error.message);
  result.retry_after_ms = retry_after_ms;
  return result;
}

ApiError api_error_of(const wire::ErrorReply& reply) {
  ApiError result = api_error(reply.error, reply.retry_after_ms);
  if (!reply.context_tokens_max) return result;
  result.status = 400;
  result.type = "invalid_request_error";
  result.code = "context_length_exceeded";
  result.message = beginning_of(reply.error.message);
  return result;
}

ApiError renamed(ApiError error, const std::string& param) {
  if (!error.param.empty() && error.message.starts_with(error.param + ": ")) {
    error.message.replace(0, error.param.size(), param);
  }
  error.param = param;
  return error;
}

std::string encode(const ApiError& error) {
  OrderedJson body;
  OrderedJson& inner = body["error"];
  inner["message"] = error.message;
  inner["type"] = error.type;
  inner["param"] = error.param.empty() ? OrderedJson() : OrderedJson(error.param);
  inner["code"] = error.code.empty() ? OrderedJson() : OrderedJson(error.code);
  return json_text(body);
}

}  // namespace cascade::openai
