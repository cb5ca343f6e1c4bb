// A streamed answer in the form of one of the APIs.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "wire/messages.h"
#include "wire/openai/api_error.h"
#include "wire/openai/choices.h"
#include "wire/openai/reply.h"

namespace cascade::openai {

// Each function returns the events to send, which may be none. The order of the calls is: accept(),
// begin(), for each choice any number of delta() and then end(), and done() after all of them. The
// calls of several choices may be mixed. Instead, fail() may be called at any time after begin().
class AnswerStream {
 public:
  explicit AnswerStream(ReplyContext context) : context_(std::move(context)) {}
  virtual ~AnswerStream() = default;
  // The context gets the fingerprint of the model that answers.
  virtual void accept(const wire::Accepted& accepted) {
    context_.fingerprint = accepted.fingerprint;
  }
  const ReplyContext& context() const { return context_; }
  virtual std::string begin() = 0;
  virtual std::string delta(size_t choice, const wire::Delta& delta) = 0;
  virtual std::string end(size_t choice, const Answer& answer) = 0;
  virtual std::string done() = 0;
  virtual std::string fail(const ApiError& error) = 0;

 protected:
  ReplyContext context_;
};

}  // namespace cascade::openai
