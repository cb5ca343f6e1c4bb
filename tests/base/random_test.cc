// Tests of the counter-based generator and of ids.
#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>

namespace cascade {
namespace {

TEST(Random, gives_known_answers) {
  // Computed independently from the definition of SplitMix64; a change would change the text that
  // users' seeds give.
  EXPECT_EQ(counter_random(0, 0), 0xA706DD2F4D197E6FULL);
  EXPECT_EQ(counter_random(0, 1), 0xB382A305F4414F5EULL);
  EXPECT_EQ(counter_random(1, 0), 0x5E41AB087439611EULL);
  EXPECT_EQ(counter_random(42, 7), 0xBC16A3D4CC48678EULL);
  EXPECT_EQ(counter_random(UINT64_MAX, UINT64_MAX), 0x445018E305810B78ULL);
}

TEST(Random, units_lie_in_the_half_open_interval_and_are_spread_evenly) {
  std::array<int, 16> counts{};
  double sum = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double unit = counter_random_unit(9, static_cast<uint64_t>(i));
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
    sum += unit;
    ++counts[static_cast<size_t>(unit * 16)];
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);  // five standard deviations
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 16, 400);
}

TEST(Random, neighbouring_seeds_and_counters_share_no_bits_more_than_chance) {
  double seed_bits = 0;
  double counter_bits = 0;
  constexpr int kPairs = 10'000;
  for (uint64_t i = 0; i < kPairs; ++i) {
    seed_bits += std::popcount(counter_random(i, 5) ^ counter_random(i + 1, 5));
    counter_bits += std::popcount(counter_random(5, i) ^ counter_random(5, i + 1));
  }
  EXPECT_NEAR(seed_bits / kPairs, 32, 0.25);
  EXPECT_NEAR(counter_bits / kPairs, 32, 0.25);
}

TEST(Random, sequence_is_the_counter_stream) {
  Random random(77);
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(random(), counter_random(77, i));
  EXPECT_EQ(random.unit(), counter_random_unit(77, 10));
}

TEST(Random, below_reaches_every_number_and_no_other) {
  Random random(3);
  std::set<uint64_t> seen;
  for (int i = 0; i < 500; ++i) seen.insert(random.below(7));
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(random.below(1), 0u);
}

TEST(RandomId, has_the_prefix_and_128_bits_in_hexadecimal) {
  const std::string id = random_id("req");
  ASSERT_EQ(id.size(), 4 + 32u);
  EXPECT_TRUE(id.starts_with("req_"));
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef", 4), std::string::npos);
}

TEST(RandomId, never_repeats) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(random_id("x"));
  EXPECT_EQ(ids.size(), 1000u);
}

}  // namespace
}  // namespace cascade
