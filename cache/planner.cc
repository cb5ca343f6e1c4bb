// Alternation of decode bursts and prompt slices under time limits.
#include "cache/planner.h"

#include <algorithm>

#include "cache/kv_view.h"

namespace cascade {
namespace {

// A new measurement has a weight of a quarter: slices differ in depth, and the machine is noisy.
constexpr double kNewWeight = 0.25;
constexpr int64_t kRowsMeasured = 32;

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
  if (prompt.end - prompt.position <= tokens) return prompt.end;
  const int64_t next_page = (prompt.position / kPageTokens + 1) * kPageTokens;
  const int64_t last_page = (prompt.position + tokens) / kPageTokens * kPageTokens;
  return std::min(prompt.end, std::max(next_page, last_page));
}

Plan decode_plan(const PlanInput& input, const SpeedEstimate& speed, const PlannerLimits& limits) {
  Plan plan;
  plan.kind = Plan::Kind::kDecode;
  const double step_us = speed.decode_step_us();
  const int64_t burst_us =
      input.contended ? std::min(limits.burst_us, limits.job_contended_us) : limits.burst_us;
  const double steps = step_us > 0 ? static_cast<double>(burst_us) / step_us : 1;
  plan.decode_steps = static_cast<int>(std::clamp(steps, 1.0, double(limits.burst_steps_max)));
  return plan;
}

// Whether the prompt is computed before the next burst.
bool prompt_goes_first(const PlanInput& input, const SpeedEstimate& speed,
                       const PlannerLimits& limits) {
  if (input.decoding == 0 || input.prompt_is_owed) return true;
  if (input.prompt_budget_us <= 0) return false;
  const auto left = static_cast<double>(input.prompt->end - input.prompt->position);
  const double token_us = speed.prefill_token_us();
  if (input.prompt_budget_us >= left * token_us) return true;
  // Once a long prompt has begun, slices follow each other until the budget is spent.
  if (input.last_was_decode) return input.bursts_since_prompt >= limits.bursts_between_slices;
  return input.prompt_budget_us >= kPageTokens * token_us;
}

}  // namespace

void SpeedEstimate::add_prefill(int64_t tokens, int64_t compute_us, int64_t position) {
  prefill_time_.add(position, tokens, compute_us);
  // The time of a few rows is that of reading the weights, and says nothing about long slices.
  if (tokens <= 0 || (tokens < kRowsMeasured && prefill_token_us_ > 0)) return;
  blend(prefill_token_us_, static_cast<double>(compute_us) / static_cast<double>(tokens));
}

void SpeedEstimate::add_decode(int32_t steps, int64_t tokens, int64_t compute_us) {
  if (steps > 0) blend(decode_step_us_, static_cast<double>(compute_us) / steps);
  if (tokens > 0) blend(decode_token_us_, static_cast<double>(compute_us) / double(tokens));
}

void SpeedEstimate::add_end(int64_t now_us) {
  ends_us_.push_back(now_us);
  if (ends_us_.size() > kEnds) ends_us_.pop_front();
}

double SpeedEstimate::end_interval_us(int64_t now_us) const {
  if (ends_us_.empty()) return 0;
  return static_cast<double>(now_us - ends_us_.front()) / static_cast<double>(ends_us_.size());
}

void PromptBudget::decoded(int64_t compute_us) {
  budget_us_ = std::min(budget_us_ + limits_.prompt_share * static_cast<double>(compute_us),
                        static_cast<double>(limits_.slice_beside_decode_us));
  ++bursts_;
}

void PromptBudget::prefilled(int64_t compute_us) {
  budget_us_ = std::max(budget_us_ - static_cast<double>(compute_us),
                        -static_cast<double>(limits_.slice_beside_decode_us));
  bursts_ = 0;
}

Plan plan_next(const PlanInput& input, const SpeedEstimate& speed, const PlannerLimits& limits) {
  Plan plan;
  if (input.prompt && prompt_goes_first(input, speed, limits)) {
    const bool beside = input.decoding > 0 && !input.prompt_is_owed;
    int64_t limit_us =
        beside ? static_cast<int64_t>(input.prompt_budget_us) : limits.slice_alone_us;
    if (input.contended) {
      const int64_t job_us =
          input.prompt_is_owed ? limits.job_contended_owed_us : limits.job_contended_us;
      limit_us = std::min(limit_us, job_us);
    }
    plan.kind = Plan::Kind::kPrefill;
    plan.slice_end = slice_end(*input.prompt, limit_us, speed, limits);
  } else if (input.decoding > 0) {
    return decode_plan(input, speed, limits);
  } else if (input.idle_prompt) {
    plan.kind = Plan::Kind::kIdlePrefill;
    plan.slice_end = slice_end(*input.idle_prompt, limits.slice_idle_us, speed, limits);
  }
  return plan;
}

}  // namespace cascade
