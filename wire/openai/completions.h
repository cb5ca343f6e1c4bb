// POST /v1/completions: raw prompts, no chat template.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/messages.h"
#include "wire/openai/answer_stream.h"
#include "wire/openai/reply.h"

namespace cascade::openai {

// Exactly one of the fields is set.
struct Prompt {
  std::string text;
  std::vector<int32_t> token_ids = {};
};

// The answers of a call are kept until all of them are complete. Programs that measure models send
// about 100 prompts at once.
inline constexpr size_t kPromptsMax = 128;     // of a call
inline constexpr size_t kAllChoicesMax = 128;  // for all prompts of a call

struct CompletionCall {
  wire::GenerateRequest request;  // without its prompt
  std::vector<Prompt> prompts;    // not empty
  int64_t n = 1;                  // the number of answers to each prompt
  bool echo = false;              // each answer begins with its prompt's text
  std::string model;              // empty: not named
  bool include_usage = false;
  std::string grammar_param;  // see constrain()
};

// In errors, the field is the param.
Result<CompletionCall> decode_completion(std::string_view body);

// One request for each choice: those of the first prompt, then those of the second, and so on.
std::vector<wire::GenerateRequest> requests_of(const CompletionCall& call);

// The body of a reply that is not streamed. `echoes`: the texts of the prompts if the answers
// repeat them, else empty.
std::string encode_completion(const ReplyContext& context, const CompletionCall& call,
                              std::span<const std::string> echoes, std::span<const Answer> answers);

class CompletionStream : public AnswerStream {
 public:
  // `echoes`: as in encode_completion().
  CompletionStream(ReplyContext context, const CompletionCall& call,
                   std::vector<std::string> echoes);
  std::string begin() override;
  std::string delta(size_t choice, const wire::Delta& delta) override;
  std::string end(size_t choice, const Answer& answer) override;
  std::string done() override;
  std::string fail(const ApiError& error) override;

 private:
  const bool include_usage_;
  const bool logprobs_;
  const size_t n_;
  const std::vector<std::string> echoes_;
  UsageSum usage_;
};

}  // namespace cascade::openai
