// POST /v1/completions: raw prompts, no chat template.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wire/messages.h"
#include "wire/openai/answer_stream.h"
#include "wire/openai/reply.h"

namespace cascade::openai {

struct CompletionCall {
  wire::GenerateRequest request;
  std::string model;  // empty: not named
  bool include_usage = false;
};

// Errors: the field is the param.
Result<CompletionCall> decode_completion(std::string_view body);

// `pieces`: as in encode_chat().
std::string encode_completion(const ReplyContext& context, const CompletionCall& call,
                              const wire::Final& final, std::span<const std::string> pieces);

class CompletionStream : public AnswerStream {
 public:
  CompletionStream(ReplyContext context, const CompletionCall& call);
  std::string begin() override;
  std::string delta(const wire::Delta& delta) override;
  std::string end(const wire::Final& final, std::span<const std::string> pieces) override;
  std::string fail(const ApiError& error) override;

 private:
  const ReplyContext context_;
  const bool include_usage_;
  const bool logprobs_;
};

}  // namespace cascade::openai
