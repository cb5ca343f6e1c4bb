// Sums, and numbers that lie one after the other.
#include "actors/scheduler/burst_result.h"

#include <algorithm>

namespace cascade {

void take_top_logprobs(const wire::DecodedSequence& result, size_t i, Request& request) {
  const size_t count = result.top_token_ids.size() / result.token_ids.size();
  const auto tokens = result.top_token_ids.begin() + static_cast<ptrdiff_t>(i * count);
  const auto logprobs = result.top_logprobs.begin() + static_cast<ptrdiff_t>(i * count);
  const auto n = static_cast<ptrdiff_t>(count);
  request.top_token_ids.insert(request.top_token_ids.end(), tokens, tokens + n);
  request.top_logprobs.insert(request.top_logprobs.end(), logprobs, logprobs + n);
}

void take_counts(const wire::DecodedSequence& result, Request& request, Counters& counters) {
  counters.tokens_selected += result.selected_tokens;
  request.selected_tokens += result.selected_tokens;
  counters.tokens_drafted += result.drafted_tokens;
  request.drafted_tokens += result.drafted_tokens;
  counters.tokens_accepted += result.accepted_tokens;
  request.accepted_tokens += result.accepted_tokens;
  request.draft_record = result.draft_record;
}

double sampled_token_cost(const SpeedEstimate& speed) {
  if (speed.prefill_token_us() <= 0) return 1;
  return std::max(1.0, speed.decode_token_us() / speed.prefill_token_us());
}

}  // namespace cascade
