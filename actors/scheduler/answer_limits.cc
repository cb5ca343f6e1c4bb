// The parts of a message that an answer may take.
#include "actors/scheduler/answer_limits.h"

#include <algorithm>

#include "model/config.h"
#include "wire/limits.h"

namespace cascade {
namespace {

static_assert(kContextServedMax <= wire::kNumbersMax, "the tokens of a context go as one array");

// The ids of the likeliest tokens are one array, and so are their log-probabilities.
constexpr auto kLikeliestMax = static_cast<int64_t>(wire::kNumbersMax);
// The longest answer that may have log-probabilities of the likeliest tokens. With one likeliest
// token at each place, the ids and log-probabilities of this many tokens take three quarters of a
// message; text takes an eighth (kAnswerBytesMax).
constexpr int64_t kTokensMax = kLikeliestMax / 4 * 3;

// Each think span is a map of three fields: this many take a thirtieth of a message's values.
constexpr size_t kThinkSpansMax = 10'000;

}  // namespace

Status check_top_logprobs(int64_t top_logprobs, int64_t max_tokens) {
  const int64_t most = max_tokens > kTokensMax ? 0 : kLikeliestMax / max_tokens;
  if (top_logprobs <= most) return {};
  return invalid_argument("top_logprobs", "for an answer of up to " + std::to_string(max_tokens) +
                                              " tokens the limit is " + std::to_string(most));
}

Status check_begun(const std::string& begun) {
  if (begun.size() < wire::kAnswerBytesMax) return {};
  return invalid_argument("messages", "the last one, which the answer is to go on with, has " +
                                          std::to_string(begun.size()) + " bytes; the limit is " +
                                          std::to_string(wire::kAnswerBytesMax - 1));
}

Result<std::string> kept_prompt(const Tokenizer& tokenizer, std::span<const int32_t> token_ids) {
  auto text = tokenizer.decode(token_ids, /*skip_special=*/false, wire::kTextBytesMax);
  if (text) return std::move(*text);
  return invalid_argument("prompt_token_ids",
                          "have a text of more than " + std::to_string(wire::kTextBytesMax) +
                              " bytes, the limit of what is kept with a retained output");
}

bool is_full(const Request& request) {
  const OutputStream& output = *request.output;
  const size_t bytes = request.begun.size() + output.bytes();
  return bytes >= wire::kAnswerBytesMax || output.think_spans().size() >= kThinkSpansMax;
}

}  // namespace cascade
