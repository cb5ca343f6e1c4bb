// A streamed answer in the form of one of the APIs.
#pragma once

#include <span>
#include <string>

#include "wire/messages.h"
#include "wire/openai/api_error.h"

namespace cascade::openai {

// Each function returns the events that are to be sent, which may be none. Called in this order:
// accept(), begin(), delta() any number of times, then end() or fail().
class AnswerStream {
 public:
  virtual ~AnswerStream() = default;
  virtual void accept(const wire::Accepted&) {}
  virtual std::string begin() = 0;
  virtual std::string delta(const wire::Delta& delta) = 0;
  // `pieces`: see encode_logprobs(); only looked at if the request asked for log-probabilities.
  virtual std::string end(const wire::Final& final, std::span<const std::string> pieces) = 0;
  virtual std::string fail(const ApiError& error) = 0;
};

}  // namespace cascade::openai
