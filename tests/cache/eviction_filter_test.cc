// What the filter must know, and how often it may be wrong.
#include "cache/eviction_filter.h"

#include <gtest/gtest.h>

#include "tests/cache/testing.h"

namespace cascade {
namespace {

using testing::page;

TEST(EvictionFilter, knows_the_last_ones_for_sure_and_forgets_what_was_long_before) {
  constexpr uint64_t kKeys = 1000;
  EvictionFilter filter(kKeys);
  for (uint64_t n = 0; n < 10 * kKeys; ++n) {
    filter.add(page(n));
    const uint64_t first = n < kKeys ? 0 : n - kKeys + 1;
    for (const uint64_t known : {first, (first + n) / 2, n}) {
      ASSERT_TRUE(filter.may_have(page(known))) << known << " of " << n;
    }
  }
  size_t old = 0;
  for (uint64_t n = 0; n < 8 * kKeys; ++n) old += filter.may_have(page(n));
  EXPECT_LT(old, 8 * kKeys / 25);
}

TEST(EvictionFilter, takes_few_others_for_known_ones) {
  for (const size_t keys : {size_t{1}, size_t{64}, size_t{5000}}) {
    EvictionFilter filter(keys);
    for (uint64_t n = 0; n < 2 * keys; ++n) filter.add(page(n));
    size_t wrong = 0;
    for (uint64_t n = 0; n < 20'000; ++n) wrong += filter.may_have(page(1'000'000 + n));
    EXPECT_LT(wrong, 20'000u / 25) << keys;
  }
}

TEST(EvictionFilter, of_no_size_knows_nothing) {
  EvictionFilter filter(0);
  filter.add(page(1));
  EXPECT_FALSE(filter.may_have(page(1)));
}

}  // namespace
}  // namespace cascade
