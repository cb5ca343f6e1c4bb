// Tests of arithmetic that reports overflow.
#include "base/checked.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(Checked, adds_up_to_the_largest_number_and_not_beyond) {
  EXPECT_EQ(checked_add<uint64_t>(2, 3), 5u);
  EXPECT_EQ(checked_add<uint64_t>(UINT64_MAX - 1, 1), UINT64_MAX);
  EXPECT_EQ(checked_add<uint64_t>(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_add<int64_t>(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_add<int64_t>(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(checked_add<uint8_t>(200, 55), 255);
  EXPECT_EQ(checked_add<uint8_t>(200, 56), std::nullopt);
}

TEST(Checked, multiplies_up_to_the_largest_number_and_not_beyond) {
  EXPECT_EQ(checked_mul<uint64_t>(UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(checked_mul<uint64_t>(UINT64_MAX, 0), 0u);
  EXPECT_EQ(checked_mul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_mul<uint64_t>(uint64_t{1} << 32, UINT32_MAX), uint64_t{UINT32_MAX} << 32);
  EXPECT_EQ(checked_mul<int64_t>(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(checked_mul<int64_t>(-3, 4), -12);
}

TEST(Checked, works_at_compile_time) {
  static_assert(checked_mul<int>(6, 7) == 42);
  static_assert(!checked_add<int8_t>(127, 1).has_value());
  static_assert(round_up(9, 8) == 16);
}

TEST(Checked, rounds_up_to_multiples) {
  EXPECT_EQ(round_up<size_t>(0, 64), 0u);
  EXPECT_EQ(round_up<size_t>(1, 64), 64u);
  EXPECT_EQ(round_up<size_t>(64, 64), 64u);
  EXPECT_EQ(round_up<size_t>(65, 64), 128u);
  EXPECT_EQ(round_up<size_t>(7, 1), 7u);
  EXPECT_EQ(round_up<size_t>(SIZE_MAX - 64, 64), SIZE_MAX - 63);
}

}  // namespace
}  // namespace cascade
