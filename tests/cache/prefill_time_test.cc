// The time of prompt tokens: what is learned from slices on a machine whose later tokens cost more.
#include "cache/prefill_time.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade {
namespace {

constexpr int64_t kSlice = 64;

// A token at position p takes first_us + growth_us * p, times a random factor.
struct Machine {
  double first_us = 1450;
  double growth_us = 0.33;
  double noise = 0;
  Random random{testing::test_seed()};

  double exact_us(int64_t begin, int64_t end) const {
    const auto tokens = static_cast<double>(end - begin);
    return tokens * first_us + growth_us * sum_of_positions(begin, end);
  }
  void compute(PrefillTime& time, int64_t begin, int64_t end) {
    for (; begin < end; begin += kSlice) {
      const double chance = 1 + noise * (static_cast<double>(random.below(2001)) / 1000 - 1);
      time.add(begin, kSlice, static_cast<int64_t>(exact_us(begin, begin + kSlice) * chance));
    }
  }
};

::testing::AssertionResult is_within(double factor, double estimate_us, double exact_us) {
  if (estimate_us > exact_us / factor && estimate_us < exact_us * factor) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << estimate_us << " us, and exactly " << exact_us;
}

TEST(PrefillTime, is_nothing_before_the_first_measurement) {
  PrefillTime time(1e-4);
  time.add(0, 0, 1000);
  time.add(0, -1, 1000);
  time.add(0, 100, 0);
  time.add(-1, 100, 1000);
  EXPECT_EQ(time.us(0, 100'000), 0);
}

TEST(PrefillTime, of_no_tokens_is_nothing) {
  PrefillTime time;
  time.add(0, 100, 100'000);
  EXPECT_EQ(time.us(50, 50), 0);
  EXPECT_EQ(time.us(50, 40), 0);
}

TEST(PrefillTime, of_a_long_prompt_is_known_by_its_beginning) {
  for (const double growth_us : {0.0, 0.01, 0.1, 0.33, 1.5}) {
    Machine machine{.growth_us = growth_us};
    PrefillTime time;
    machine.compute(time, 0, 4000);
    const double exact = machine.exact_us(0, 100'000);
    EXPECT_TRUE(is_within(1.3, time.us(0, 100'000), exact)) << growth_us;
  }
}

TEST(PrefillTime, of_a_long_prompt_is_known_within_a_factor_of_two_on_a_machine_that_is_not_quiet) {
  Machine machine{.noise = 0.1};
  for (int i = 0; i < 200; ++i) {
    PrefillTime time;
    machine.compute(time, 0, 4000);
    const double exact = machine.exact_us(4000, 100'000);
    EXPECT_TRUE(is_within(2, time.us(4000, 100'000), exact));
  }
}

TEST(PrefillTime, one_slice_that_took_extremely_long_changes_little) {
  Machine machine;
  PrefillTime time;
  machine.compute(time, 0, 4000);
  time.add(3000, kSlice, 100'000'000);
  const double exact = machine.exact_us(0, 100'000);
  EXPECT_TRUE(is_within(2, time.us(0, 100'000), exact));
}

TEST(PrefillTime, short_prompts_do_not_make_it_forget_a_long_one) {
  Machine machine{.noise = 0.05};
  PrefillTime time;
  machine.compute(time, 0, 50'000);
  for (int i = 0; i < 1000; ++i) machine.compute(time, 0, 256);
  const double exact = machine.exact_us(0, 100'000);
  EXPECT_TRUE(is_within(1.5, time.us(0, 100'000), exact));
}

TEST(PrefillTime, follows_a_machine_that_becomes_slower) {
  Machine machine;
  PrefillTime time;
  machine.compute(time, 0, 8000);
  machine.first_us *= 4;
  machine.growth_us *= 4;
  machine.compute(time, 0, 8000);
  EXPECT_NEAR(time.us(0, 8000) / machine.exact_us(0, 8000), 1, 0.2);
}

TEST(PrefillTime, grows_as_expected_while_slices_are_too_close_to_tell) {
  PrefillTime time(1e-3);
  time.add(0, kSlice, kSlice * 1000);
  const double first = time.us(0, 1);
  EXPECT_NEAR(time.us(10'000, 10'001) / first, 1 + 1e-3 * 10'000, 0.01);
  PrefillTime constant;
  constant.add(0, kSlice, kSlice * 1000);
  EXPECT_DOUBLE_EQ(constant.us(0, 100'000), 1e8);
}

TEST(PrefillTime, is_never_less_for_later_tokens) {
  PrefillTime time;
  time.add(0, kSlice, kSlice * 2000);
  time.add(5000, kSlice, kSlice * 1000);
  EXPECT_GT(time.us(0, 1), 0);
  EXPECT_GE(time.us(100'000, 100'001), time.us(0, 1));
}

TEST(PrefillTime, a_few_rows_say_nothing_once_there_was_a_long_slice) {
  PrefillTime time;
  time.add(0, 2, 100'000);
  EXPECT_DOUBLE_EQ(time.us(0, 1), 50'000);
  time.add(0, kSlice, kSlice * 1000);
  EXPECT_DOUBLE_EQ(time.us(0, 1), 1000);
  time.add(0, 2, 100'000);
  EXPECT_DOUBLE_EQ(time.us(0, 1), 1000);
}

TEST(PrefillTime, of_tokens_that_select_is_that_of_what_they_see) {
  constexpr int kLayers = 8;
  PrefillTime time(1e-3, kLayers);
  time.add(0, kSlice, kSlice * 1000);
  time.add(50'000, kSlice, kSlice * 51'000);
  const AttentionMode select = kSelectMode;
  const int64_t far = 200'000;
  EXPECT_DOUBLE_EQ(time.us(far, far + 10, select),
                   time.us_of(10, attention_work(select, kLayers, far, far + 10)));
  EXPECT_LT(time.us(far, far + 10, select), time.us(far, far + 10) / 10);
  EXPECT_EQ(time.us(0, 9000, select), time.us(0, 9000)) << "these do not select";
}

}  // namespace
}  // namespace cascade
