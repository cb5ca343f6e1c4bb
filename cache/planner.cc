// Alternation of decode bursts and prompt slices under time limits.
#include "cache/planner.h"

#include <algorithm>

#include "cache/kv_view.h"

namespace cascade {
namespace {

// New measurements count a quarter: slices differ in depth, and the machine is noisy.
constexpr double kNewWeight = 0.25;

void blend(double& estimate, double measured) {
  estimate = estimate == 0 ? measured : estimate + kNewWeight * (measured - estimate);
}

int64_t slice_end(const PlanInput::Prompt& prompt, int64_t limit_us, const SpeedEstimate& speed,
                  const PlannerLimits& limits) {
  // Before the first measurement one page is tried.
  const double affordable = speed.prefill_token_us() > 0
                                ? static_cast<double>(limit_us) / speed.prefill_token_us()
                                : kPageTokens;
  const auto tokens = static_cast<int64_t>(
      std::clamp(affordable, 1.0, static_cast<double>(limits.slice_tokens_max)));
  const int64_t next_page = (prompt.position / kPageTokens + 1) * kPageTokens;
  const int64_t last_page = (prompt.position + tokens) / kPageTokens * kPageTokens;
  return std::min(prompt.end, std::max(next_page, last_page));
}

}  // namespace

void SpeedEstimate::add_prefill(int64_t tokens, int64_t compute_us) {
  if (tokens > 0) blend(prefill_token_us_, static_cast<double>(compute_us) / double(tokens));
}

void SpeedEstimate::add_decode(int32_t steps, int64_t tokens, int64_t compute_us) {
  if (steps > 0) blend(decode_step_us_, static_cast<double>(compute_us) / steps);
  if (tokens > 0) blend(decode_token_us_, static_cast<double>(compute_us) / double(tokens));
}

Plan plan_next(const PlanInput& input, const SpeedEstimate& speed, const PlannerLimits& limits) {
  Plan plan;
  const bool decode = input.decoding > 0;
  if (input.prompt && !(decode && !input.last_was_decode)) {
    plan.kind = Plan::Kind::kPrefill;
    const int64_t limit = decode ? limits.slice_beside_decode_us : limits.slice_alone_us;
    plan.slice_end = slice_end(*input.prompt, limit, speed, limits);
  } else if (decode) {
    plan.kind = Plan::Kind::kDecode;
    const double steps = speed.decode_step_us() > 0
                             ? static_cast<double>(limits.burst_us) / speed.decode_step_us()
                             : 1;
    plan.decode_steps = static_cast<int>(std::clamp(steps, 1.0, double(limits.burst_steps_max)));
  } else if (input.idle_prompt) {
    plan.kind = Plan::Kind::kIdlePrefill;
    plan.slice_end = slice_end(*input.idle_prompt, limits.slice_beside_decode_us, speed, limits);
  }
  return plan;
}

}  // namespace cascade
