// A streamed answer in the form of one of the APIs.
#pragma once

#include <cstddef>
#include <string>

#include "wire/messages.h"
#include "wire/openai/api_error.h"
#include "wire/openai/choices.h"

namespace cascade::openai {

// Each function returns the events to send, which may be none. The order of the calls is: accept(),
// begin(), for each choice any number of delta() and then end(), and done() after all of them. The
// calls of several choices may be mixed. Instead, fail() may be called at any time after begin().
class AnswerStream {
 public:
  virtual ~AnswerStream() = default;
  virtual void accept(const wire::Accepted&) {}
  virtual std::string begin() = 0;
  virtual std::string delta(size_t choice, const wire::Delta& delta) = 0;
  virtual std::string end(size_t choice, const Answer& answer) = 0;
  virtual std::string done() = 0;
  virtual std::string fail(const ApiError& error) = 0;
};

}  // namespace cascade::openai
