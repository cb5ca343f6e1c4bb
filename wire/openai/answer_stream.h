// A streamed answer in the form of one of the APIs.
#pragma once

#include <cstddef>
#include <string>

#include "wire/messages.h"
#include "wire/openai/api_error.h"
#include "wire/openai/choices.h"

namespace cascade::openai {

// Each function returns the events that are to be sent, which may be none. Called in this order:
// accept(), begin(), for each choice delta() any number of times and then end(), those of several
// choices in any order, and done() behind all of them; or fail() at any time behind begin().
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
