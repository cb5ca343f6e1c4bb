// The planner: alternation, ends of slices, time limits, hostile speeds.
#include "cache/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/random.h"
#include "cache/kv_view.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using Kind = Plan::Kind;

SpeedEstimate speed_of(int64_t prefill_token_us, int64_t decode_step_us) {
  SpeedEstimate speed;
  speed.add_prefill(1, prefill_token_us);
  speed.add_decode(1, 1, decode_step_us);
  return speed;
}

PlanInput prompt_input(int64_t position, int64_t end) {
  PlanInput input;
  input.prompt = {position, end};
  return input;
}

TEST(SpeedEstimate, starts_at_zero_takes_the_first_value_then_a_quarter_of_each) {
  SpeedEstimate speed;
  EXPECT_EQ(speed.prefill_token_us(), 0);
  EXPECT_EQ(speed.decode_step_us(), 0);
  EXPECT_EQ(speed.decode_token_us(), 0);
  speed.add_prefill(100, 20'000);
  speed.add_decode(4, 8, 8000);
  EXPECT_DOUBLE_EQ(speed.prefill_token_us(), 200);
  EXPECT_DOUBLE_EQ(speed.decode_step_us(), 2000);
  EXPECT_DOUBLE_EQ(speed.decode_token_us(), 1000);
  speed.add_prefill(40, 16'000);
  speed.add_decode(1, 1, 4000);
  EXPECT_DOUBLE_EQ(speed.prefill_token_us(), 250);
  EXPECT_DOUBLE_EQ(speed.decode_step_us(), 2500);
  EXPECT_DOUBLE_EQ(speed.decode_token_us(), 1750);
}

TEST(SpeedEstimate, ignores_measurements_of_nothing) {
  SpeedEstimate speed;
  speed.add_prefill(0, 1000);
  speed.add_decode(0, 0, 1000);
  EXPECT_EQ(speed.prefill_token_us(), 0);
  EXPECT_EQ(speed.decode_step_us(), 0);
  speed.add_decode(2, 0, 1000);
  EXPECT_EQ(speed.decode_step_us(), 500);
  EXPECT_EQ(speed.decode_token_us(), 0);
}

TEST(SpeedEstimate, a_few_rows_say_nothing_about_long_slices) {
  SpeedEstimate speed;
  speed.add_prefill(512, 512'000);
  speed.add_prefill(1, 50'000);
  EXPECT_EQ(speed.prefill_token_us(), 1000);
}

TEST(SpeedEstimate, ends_are_as_far_apart_as_the_last_ones_and_the_time_since) {
  SpeedEstimate speed;
  EXPECT_EQ(speed.end_interval_us(5000), 0);
  speed.add_end(1000);
  EXPECT_EQ(speed.end_interval_us(5000), 4000);
  // When a batch ends together, each of its ends counts.
  for (int i = 0; i < 9; ++i) speed.add_end(5000);
  EXPECT_EQ(speed.end_interval_us(5000), 400);
  EXPECT_EQ(speed.end_interval_us(101'000), 10'000);
  for (int i = 0; i < 100; ++i) speed.add_end(200'000 + i * 1000);
  EXPECT_NEAR(speed.end_interval_us(300'000), 1000, 50);
}

TEST(Planner, does_nothing_when_nothing_waits) {
  EXPECT_EQ(plan_next({}, SpeedEstimate(), {}).kind, Kind::kNothing);
}

TEST(Planner, the_first_slice_is_one_page_as_nothing_was_measured) {
  EXPECT_EQ(plan_next(prompt_input(0, 1000), SpeedEstimate(), {}).slice_end, 64);
  EXPECT_EQ(plan_next(prompt_input(70, 1000), SpeedEstimate(), {}).slice_end, 128);
  EXPECT_EQ(plan_next(prompt_input(0, 10), SpeedEstimate(), {}).slice_end, 10);
}

TEST(Planner, a_slice_is_as_long_as_the_time_allows_in_whole_pages) {
  const SpeedEstimate speed = speed_of(1000, 1000);
  // 100 ms are 100 tokens.
  EXPECT_EQ(plan_next(prompt_input(0, 9999), speed, {}).slice_end, 64);
  EXPECT_EQ(plan_next(prompt_input(30, 9999), speed, {}).slice_end, 128);
  EXPECT_EQ(plan_next(prompt_input(0, 9999), speed_of(1, 1), {}).slice_end, 512);
}

TEST(Planner, a_short_prompt_goes_before_decodes_when_the_budget_covers_it) {
  PlanInput input = prompt_input(0, 200);
  input.decoding = 4;
  input.prompt_budget_us = 100'500;  // 201 tokens
  const Plan plan = plan_next(input, speed_of(500, 1000), {});
  EXPECT_EQ(plan.kind, Kind::kPrefill);
  EXPECT_EQ(plan.slice_end, 200);
  input.prompt_budget_us = 99'000;
  input.last_was_decode = true;
  EXPECT_EQ(plan_next(input, speed_of(500, 1000), {}).kind, Kind::kDecode);
}

TEST(Planner, slices_of_a_long_prompt_are_many_bursts_apart) {
  const SpeedEstimate speed = speed_of(500, 1000);
  PlanInput input = prompt_input(0, 100'000);
  input.decoding = 4;
  input.last_was_decode = true;
  input.prompt_budget_us = 216'000;
  input.bursts_since_prompt = 39;
  EXPECT_EQ(plan_next(input, speed, {}).kind, Kind::kDecode);
  input.bursts_since_prompt = 40;
  EXPECT_EQ(plan_next(input, speed, {}).kind, Kind::kPrefill);
  EXPECT_EQ(plan_next(input, speed, {}).slice_end, 384);
  // A prompt that has begun continues until the budget is spent; a slice may have fewer tokens than
  // the budget covers.
  input.prompt_budget_us = 40'000;
  input.bursts_since_prompt = 0;
  input.last_was_decode = false;
  EXPECT_EQ(plan_next(input, speed, {}).kind, Kind::kPrefill);
  EXPECT_EQ(plan_next(input, speed, {}).slice_end, 64);
  input.prompt_budget_us = 30'000;
  EXPECT_EQ(plan_next(input, speed, {}).kind, Kind::kDecode) << "less than a page";
}

TEST(PromptBudget, fills_while_decoding_up_to_a_slice_and_is_spent) {
  const PlannerLimits limits;
  PromptBudget budget(limits);
  budget.decoded(1'000'000);
  EXPECT_DOUBLE_EQ(budget.us(), 250'000);
  EXPECT_EQ(budget.bursts(), 1);
  budget.prefilled(250'000);
  EXPECT_DOUBLE_EQ(budget.us(), 0);
  EXPECT_EQ(budget.bursts(), 0);
  budget.decoded(10'000);
  EXPECT_DOUBLE_EQ(budget.us(), 9'000);
  // A slice that took longer than expected leaves a debt, up to a limit.
  budget.prefilled(19'000);
  EXPECT_DOUBLE_EQ(budget.us(), -10'000);
  budget.prefilled(1'000'000'000);
  EXPECT_DOUBLE_EQ(budget.us(), -250'000);
}

TEST(Planner, jobs_are_short_while_several_tenants_have_work) {
  PlanInput input;
  input.decoding = 2;
  input.contended = true;
  EXPECT_EQ(plan_next(input, speed_of(100, 1000), {}).decode_steps, 5);
  input.decoding = 0;
  input.prompt = {0, 10'000};
  EXPECT_EQ(plan_next(input, speed_of(100, 1000), {}).slice_end, 64);
}

TEST(Planner, beside_a_long_prompt_nearly_all_bursts_follow_each_other) {
  const SpeedEstimate speed = speed_of(500, 1000);
  const PlannerLimits limits;
  PromptBudget budget(limits);
  PlanInput input = prompt_input(0, 1'000'000);
  input.decoding = 4;
  int bursts = 0, pauses = 0;
  int64_t decode_us = 0, prefill_us = 0;
  while (bursts < 10'000) {
    input.prompt_budget_us = budget.us();
    input.bursts_since_prompt = budget.bursts();
    const Plan plan = plan_next(input, speed, limits);
    if (plan.kind == Kind::kPrefill && input.last_was_decode) ++pauses;
    input.last_was_decode = plan.kind == Kind::kDecode;
    if (plan.kind == Kind::kDecode) {
      ++bursts;
      decode_us += plan.decode_steps * 1000;
      budget.decoded(plan.decode_steps * 1000);
    } else {
      const int64_t us = (plan.slice_end - input.prompt->position) * 500;
      prefill_us += us;
      budget.prefilled(us);
      input.prompt->position = plan.slice_end;
    }
  }
  EXPECT_LE(pauses * 40, bursts + 40);
  const double share = static_cast<double>(prefill_us) / static_cast<double>(decode_us);
  EXPECT_GT(share, 0.4);
  EXPECT_LE(share, limits.prompt_share * 1.05);
}

TEST(Planner, a_prompt_that_is_owed_its_time_does_not_wait_for_decodes) {
  PlanInput input = prompt_input(0, 300);
  input.decoding = 5;
  input.prompt_is_owed = true;
  const Plan plan = plan_next(input, speed_of(100, 1000), {});
  EXPECT_EQ(plan.kind, Kind::kPrefill);
  EXPECT_EQ(plan.slice_end, 300);
  input.prompt.reset();
  EXPECT_EQ(plan_next(input, speed_of(100, 1000), {}).kind, Kind::kDecode);
}

TEST(Planner, a_burst_is_as_long_as_the_time_allows_and_at_least_a_step) {
  PlanInput input;
  input.decoding = 1;
  const auto steps = [&](const SpeedEstimate& speed) {
    return plan_next(input, speed, {}).decode_steps;
  };
  EXPECT_EQ(steps(SpeedEstimate()), 1);
  EXPECT_EQ(steps(speed_of(1, 5000)), 2);
  EXPECT_EQ(steps(speed_of(1, 1'000'000)), 1);
  EXPECT_EQ(steps(speed_of(1, 1)), 64);
  PlannerLimits limits;
  limits.burst_steps_max = 3;
  EXPECT_EQ(plan_next(input, speed_of(1, 1), limits).decode_steps, 3);
}

TEST(Planner, idle_work_is_done_only_when_nothing_else_waits) {
  PlanInput input;
  input.idle_prompt = {0, 1000};
  const Plan idle = plan_next(input, SpeedEstimate(), {});
  EXPECT_EQ(idle.kind, Kind::kIdlePrefill);
  EXPECT_EQ(idle.slice_end, 64);
  for (const double budget_us : {0.0, 1e6}) {
    input.prompt_budget_us = budget_us;
    PlanInput with_prompt = input;
    with_prompt.prompt = {0, 10};
    EXPECT_EQ(plan_next(with_prompt, SpeedEstimate(), {}).kind, Kind::kPrefill);
    PlanInput with_decode = input;
    with_decode.decoding = 1;
    EXPECT_EQ(plan_next(with_decode, SpeedEstimate(), {}).kind, Kind::kDecode);
  }
}

TEST(Planner, an_idle_slice_is_short_even_though_nothing_runs) {
  PlanInput input;
  input.idle_prompt = {0, 100'000};
  EXPECT_EQ(plan_next(input, speed_of(300, 1), {}).slice_end, 192);  // 60 ms, not 250
}

// Speeds that no machine has: the plan must still be a plan.
SpeedEstimate any_speed(Random& random) {
  SpeedEstimate speed;
  const auto time = [&]() -> int64_t {
    switch (random.below(4)) {
      case 0: return 0;
      case 1: return std::numeric_limits<int64_t>::max();
      default: return static_cast<int64_t>(random() >> (1 + random.below(62)));
    }
  };
  for (uint64_t i = random.below(3); i > 0; --i) {
    speed.add_prefill(static_cast<int64_t>(random.below(600)), time());
    speed.add_decode(static_cast<int32_t>(random.below(65)),
                     static_cast<int64_t>(random.below(900)), time());
  }
  return speed;
}

void check_slice(const PlanInput::Prompt& prompt, int64_t end, const PlannerLimits& limits) {
  ASSERT_GT(end, prompt.position);
  ASSERT_LE(end, prompt.end);
  ASSERT_TRUE(end == prompt.end || end % kPageTokens == 0) << end;
  ASSERT_LE(end - prompt.position, std::max<int64_t>(limits.slice_tokens_max, kPageTokens));
}

TEST(Planner, any_plan_makes_progress_within_its_limits) {
  Random random(testing::test_seed());
  for (int i = 0; i < 50'000; ++i) {
    PlannerLimits limits;
    limits.slice_tokens_max = 1 + static_cast<int>(random.below(1024));
    limits.burst_us = static_cast<int64_t>(random() >> (1 + random.below(62)));
    limits.slice_idle_us = static_cast<int64_t>(random() >> (1 + random.below(62)));
    limits.bursts_between_slices = static_cast<int>(random.below(30));
    limits.slice_beside_decode_us = static_cast<int64_t>(random() >> (1 + random.below(62)));
    limits.slice_alone_us = static_cast<int64_t>(random() >> (1 + random.below(62)));
    limits.burst_steps_max = 1 + static_cast<int>(random.below(200));
    const auto prompt = [&]() -> std::optional<PlanInput::Prompt> {
      if (random.below(2) == 0) return std::nullopt;
      const auto position = static_cast<int64_t>(random.below(3000));
      return PlanInput::Prompt{position, position + 1 + static_cast<int64_t>(random.below(3000))};
    };
    PlanInput input;
    input.decoding = static_cast<int>(random.below(3));
    input.prompt = prompt();
    input.idle_prompt = prompt();
    input.prompt_budget_us = (random.unit() - 0.5) * 1e9;
    input.last_was_decode = random.below(2) == 1;
    input.bursts_since_prompt = static_cast<int>(random.below(40));
    input.contended = random.below(2) == 1;
    input.prompt_is_owed = random.below(4) == 0;
    const Plan plan = plan_next(input, any_speed(random), limits);
    switch (plan.kind) {
      case Kind::kNothing:
        ASSERT_TRUE(input.decoding == 0 && !input.prompt && !input.idle_prompt);
        break;
      case Kind::kDecode:
        ASSERT_GT(input.decoding, 0);
        ASSERT_TRUE(plan.decode_steps >= 1 && plan.decode_steps <= limits.burst_steps_max);
        break;
      case Kind::kPrefill: check_slice(input.prompt.value(), plan.slice_end, limits); break;
      case Kind::kIdlePrefill:
        ASSERT_TRUE(input.decoding == 0 && !input.prompt);
        check_slice(input.idle_prompt.value(), plan.slice_end, limits);
        break;
    }
  }
}

}  // namespace
}  // namespace cascade
