// Several answers to one call: `n` of a prompt, and of several prompts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/messages.h"
#include "wire/openai/fields.h"
#include "wire/openai/logprobs.h"

namespace cascade::openai {

inline constexpr int64_t kChoicesMax = 8;  // of a prompt

// What came of one choice. `token_texts`: see encode_logprobs(); there only if the request asked
// for log-probabilities.
struct Answer {
  wire::Final final;
  std::vector<TokenText> token_texts = {};
};

// Reads n. Errors are left in `fields`.
int64_t read_choices(Fields& fields);

// One request for each of `n` answers to `request`. The first is `request` itself; the seeds of the
// others, if it has one, follow it, so that each answer can be had alone. Without a seed the daemon
// draws one for each.
std::vector<wire::GenerateRequest> choices_of(const wire::GenerateRequest& request, int64_t n);

// Adds up what `n` answers to each prompt took, in the order of the choices.
class UsageSum {
 public:
  explicit UsageSum(int64_t n) : n_(n) {}
  // A prompt counts once: what its first choice says of it.
  void add(size_t choice, const wire::Usage& usage);
  const wire::Usage& usage() const { return sum_; }

 private:
  const int64_t n_;
  wire::Usage sum_;
};
wire::Usage usage_of(std::span<const Answer> answers, int64_t n);

}  // namespace cascade::openai
