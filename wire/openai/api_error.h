// Errors as OpenAI's API has them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "wire/reply_messages.h"

namespace cascade::openai {

struct ApiError {
  int status = 500;
  std::string type;
  std::string code;   // machine-readable; may be empty
  std::string param;  // the request's field, e.g. "messages[1].role"; may be empty
  std::string message;
  int64_t retry_after_ms = 0;  // > 0: trying again after that time may work
};

// `error.field` becomes the param. Both texts are cut to about 1,000 bytes.
ApiError api_error(const Error& error, int64_t retry_after_ms = 0);
// Does the same for an error that the daemon gave as its answer. A prompt that has no room gets the
// code that clients know, context_length_exceeded.
ApiError api_error_of(const wire::ErrorReply& reply);

// Returns `error` with `param` as its param. If its message begins with the old param, the new one
// takes that place, too.
ApiError renamed(ApiError error, const std::string& param);

// The object {"error":{message,type,param,code}}.
std::string encode(const ApiError& error);

}  // namespace cascade::openai
