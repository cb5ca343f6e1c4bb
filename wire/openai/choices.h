// Several answers to one call, which may have one prompt or several: `n` for each prompt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/messages.h"
#include "wire/openai/fields.h"
#include "wire/openai/logprobs.h"

namespace cascade::openai {

inline constexpr int64_t kChoicesMax = 8;  // for one prompt

// The result of one choice. `token_texts` (see encode_logprobs()) exist only if the request asked
// for log-probabilities.
struct Answer {
  wire::Final final;
  std::vector<TokenText> token_texts = {};
};

// Reads n. Errors are left in `fields`.
int64_t read_choices(Fields& fields);

// Returns one request for each of `n` answers to `request`. The first is `request` itself. If
// `request` has a seed, the seeds of the others count up from it, so that each answer can also be
// had alone. Without a seed, the daemon draws one for each.
std::vector<wire::GenerateRequest> choices_of(const wire::GenerateRequest& request, int64_t n);

// Adds up the usage of `n` answers to each prompt, in the order of the choices.
class UsageSum {
 public:
  explicit UsageSum(int64_t n) : n_(n) {}
  // A prompt counts only once, with the numbers of its first choice.
  void add(size_t choice, const wire::Usage& usage);
  const wire::Usage& usage() const { return sum_; }

 private:
  const int64_t n_;
  wire::Usage sum_;
};
wire::Usage usage_of(std::span<const Answer> answers, int64_t n);

}  // namespace cascade::openai
