// The order of scores: class, time of use, hits, depth.
#include "cache/eviction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kNow = 1'800'000'000 * kSecond;  // a Unix time

TEST(Eviction, a_retained_page_outranks_every_other) {
  const double worst_retained = page_score({true, 0, 0, 0});
  const double best_other = page_score({false, kNow, INT64_MAX, int64_t{1} << 40});
  EXPECT_GT(worst_retained, best_other);
}

TEST(Eviction, later_use_ranks_higher_within_a_class) {
  for (const bool retained : {false, true}) {
    EXPECT_GT(page_score({retained, kNow + kSecond, 3, 640}), page_score({retained, kNow, 3, 640}));
    // A millisecond still counts, whatever the class adds.
    EXPECT_GT(page_score({retained, kNow + 1000, 3, 640}), page_score({retained, kNow, 3, 640}));
  }
}

TEST(Eviction, a_doubling_of_hits_is_worth_ninety_seconds) {
  const double once = page_score({false, kNow, 4, 0});
  EXPECT_NEAR(page_score({false, kNow, 8, 0}) - once, 90, 1e-3);
  EXPECT_GT(page_score({false, kNow, 8, 0}), page_score({false, kNow + 89 * kSecond, 4, 0}));
  EXPECT_LT(page_score({false, kNow, 8, 0}), page_score({false, kNow + 91 * kSecond, 4, 0}));
}

TEST(Eviction, a_page_never_hit_is_as_good_as_one_hit_once) {
  EXPECT_EQ(page_score({false, kNow, 0, 128}), page_score({false, kNow, 1, 128}));
  EXPECT_EQ(page_score({false, kNow, -5, 128}), page_score({false, kNow, 1, 128}));
}

TEST(Eviction, deeper_pages_rank_higher) {
  EXPECT_GT(page_score({false, kNow, 2, 6400}), page_score({false, kNow, 2, 64}));
}

TEST(Eviction, is_finite_and_monotonic_for_any_page) {
  Random random(testing::test_seed());
  for (int i = 0; i < 10'000; ++i) {
    const PageWorth worth = {random.below(2) == 1,
                             static_cast<int64_t>(random() >> random.below(60)),
                             static_cast<int64_t>(random() >> (1 + random.below(60))),
                             static_cast<int64_t>(random() >> (1 + random.below(60)))};
    ASSERT_TRUE(std::isfinite(page_score(worth)));
    PageWorth better = worth;
    better.hits = worth.hits / 2 * 2 + 2 < 0 ? worth.hits : worth.hits / 2 * 2 + 2;
    better.position = worth.position / 2;
    ASSERT_GE(page_score({worth.retained, worth.last_used_us, better.hits, worth.position}),
              page_score(worth));
    ASSERT_LE(page_score({worth.retained, worth.last_used_us, worth.hits, better.position}),
              page_score(worth));
  }
}

}  // namespace
}  // namespace cascade
