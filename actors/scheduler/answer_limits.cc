// The parts of a message that an answer may take.
#include "actors/scheduler/answer_limits.h"

#include <algorithm>

#include "model/config.h"
#include "wire/limits.h"

namespace cascade {
namespace {

static_assert(kContextServedMax <= wire::kNumbersMax, "the tokens of a context go as one array");

// Ids and log-probabilities, of the sampled tokens and of the likeliest ones. Text has an eighth of
// the message (kAnswerBytesMax), and all that is left has another one.
constexpr int64_t kLogprobBytesMax = static_cast<int64_t>(wire::kMessageBytesMax) / 8 * 6;
constexpr int64_t kLogprobBytes = sizeof(int32_t) + sizeof(float);

// Each is a map of three fields: all together take a thirtieth of a message's values.
constexpr size_t kThinkSpansMax = 10'000;

}  // namespace

Status check_top_logprobs(int64_t top_logprobs, int64_t max_tokens) {
  const int64_t most = std::max<int64_t>(0, kLogprobBytesMax / kLogprobBytes / max_tokens - 1);
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

bool is_full(const Request& request) {
  const OutputStream& output = *request.output;
  const size_t bytes = request.begun.size() + output.answer().size() + output.reasoning().size();
  return bytes >= wire::kAnswerBytesMax || output.think_spans().size() >= kThinkSpansMax;
}

}  // namespace cascade
