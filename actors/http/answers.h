// Checks whether a message of the daemon has the type that a request waits for.
#pragma once

#include <optional>
#include <variant>

#include "wire/messages.h"
#include "wire/openai/api_error.h"

namespace cascade {

// The error that `message` stands for; nullopt if it is an M.
template <class M>
std::optional<openai::ApiError> problem(const wire::Message& message) {
  if (std::holds_alternative<M>(message)) return std::nullopt;
  if (const auto* failed = std::get_if<wire::ErrorReply>(&message)) {
    return openai::api_error_of(*failed);
  }
  return openai::api_error({ErrorCode::kInternal, "", "the daemon's answer is not valid"});
}

}  // namespace cascade
