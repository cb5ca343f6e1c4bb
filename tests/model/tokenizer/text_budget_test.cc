// The budget of a text: bytes that are written, and time.
#include <gtest/gtest.h>

#include "model/tokenizer/text_budget.h"

namespace cascade::testing {
namespace {

TEST(TextBudget, gives_bytes_until_none_are_left) {
  TextBudget budget(1000);
  const size_t all = budget.bytes_left();
  EXPECT_GE(all, 8 * 1000u);
  EXPECT_TRUE(budget.take_bytes(all - 1));
  EXPECT_FALSE(budget.take_bytes(2));
  EXPECT_EQ(budget.bytes_left(), 1u);
  EXPECT_TRUE(budget.take_bytes(1));
  EXPECT_TRUE(budget.take_bytes(0));
  EXPECT_FALSE(budget.take_bytes(SIZE_MAX));
  EXPECT_EQ(budget.too_long().field, "text");
}

TEST(TextBudget, ends_with_its_time) {
  FakeClock clock;
  TextBudget budget(1000, clock, clock);
  clock.advance_us(budget.time_max_us());
  EXPECT_TRUE(budget.has_time());
  clock.advance_us(1);
  EXPECT_FALSE(budget.has_time());
}

// Wall-clock time passes while the machine does something else.
TEST(TextBudget, is_of_the_time_of_the_processor) {
  FakeClock processor, wall;
  TextBudget budget(0, processor, wall);
  wall.advance_us(100 * budget.time_max_us());
  EXPECT_TRUE(budget.has_time());
  processor.advance_us(budget.time_max_us() + 1);
  EXPECT_FALSE(budget.has_time());
}

TEST(TextBudget, has_more_of_both_for_a_longer_text) {
  EXPECT_GT(TextBudget(2000).bytes_left(), TextBudget(1000).bytes_left());
  EXPECT_GT(TextBudget(2000).time_max_us(), TextBudget(1000).time_max_us());
}

TEST(TextBudget, notices_the_end_of_its_time_after_a_few_calls) {
  FakeClock clock;
  TextBudget budget(0, clock, clock);
  clock.advance_us(budget.time_max_us() + 1);
  int calls = 1;
  while (budget.has_time_for_call()) ++calls;
  EXPECT_LE(calls, 32);
}

}  // namespace
}  // namespace cascade::testing
