// The log remembers removed pages, and why they were removed.
#include "cache/removal_log.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using Chain = std::vector<int32_t>;

Digest page_key(uint64_t number) {
  return Hasher().field("n", number).finish();
}

Chain count_from(int32_t first, size_t count) {
  Chain tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST(RemovalLog, finds_a_page_by_any_beginning_longer_than_what_was_found) {
  RemovalLog log(8, 1);
  log.add(page_key(0), 1, count_from(0, 40), Removal::kEvicted);
  for (const size_t count : {1, 39, 40, 64}) {
    EXPECT_EQ(log.find(page_key(0), 1, count_from(0, count), 0), Removal::kEvicted) << count;
  }
  // Everything that the page has, or that the prompt has, was found.
  EXPECT_FALSE(log.find(page_key(0), 1, count_from(0, 64), 40));
  EXPECT_FALSE(log.find(page_key(0), 1, count_from(0, 20), 20));
  EXPECT_TRUE(log.find(page_key(0), 1, count_from(0, 64), 39));
}

TEST(RemovalLog, another_parent_owner_or_token_is_another_page) {
  RemovalLog log(8, 1);
  log.add(page_key(0), 1, count_from(0, 64), Removal::kDeleted);
  EXPECT_FALSE(log.find(page_key(1), 1, count_from(0, 64), 0));
  EXPECT_FALSE(log.find(page_key(0), 2, count_from(0, 64), 0));
  Chain changed = count_from(0, 64);
  changed[40] = -1;
  EXPECT_TRUE(log.find(page_key(0), 1, changed, 39));
  EXPECT_FALSE(log.find(page_key(0), 1, changed, 40));
  changed[0] = -1;
  EXPECT_FALSE(log.find(page_key(0), 1, changed, 0));
}

TEST(RemovalLog, the_page_that_had_most_of_the_prompt_counts) {
  RemovalLog log(8, 1);
  Chain other = count_from(0, 64);
  other[50] = -1;
  log.add(page_key(0), 1, count_from(0, 40), Removal::kDead);
  log.add(page_key(0), 1, other, Removal::kDeleted);
  log.add(page_key(0), 1, count_from(0, 30), Removal::kEvicted);
  EXPECT_EQ(log.find(page_key(0), 1, count_from(0, 64), 0), Removal::kDeleted);
  EXPECT_EQ(log.find(page_key(0), 1, count_from(0, 35), 0), Removal::kDeleted);
  EXPECT_EQ(log.find(page_key(0), 1, count_from(0, 30), 0), Removal::kEvicted);
}

TEST(RemovalLog, the_latest_reason_counts) {
  RemovalLog log(8, 1);
  log.add(page_key(0), 1, count_from(0, 64), Removal::kEvicted);
  log.add(page_key(0), 1, count_from(0, 64), Removal::kExpired);
  log.add(page_key(0), 1, count_from(100, 64), Removal::kDead);
  EXPECT_EQ(log.find(page_key(0), 1, count_from(0, 64), 0), Removal::kExpired);
  EXPECT_EQ(log.find(page_key(0), 1, count_from(100, 64), 0), Removal::kDead);
}

TEST(RemovalLog, finds_the_right_one_of_many_that_begin_alike) {
  RemovalLog log(4096, 1);
  const auto sibling = [](int32_t i) {
    Chain tokens = count_from(0, 64);
    tokens[10] = 1000 + i;
    return tokens;
  };
  for (int32_t i = 0; i < 3000; ++i) {
    log.add(page_key(0), 1, sibling(i), i % 2 == 0 ? Removal::kEvicted : Removal::kDeleted);
  }
  for (int32_t i = 0; i < 3000; ++i) {
    const auto expected = i % 2 == 0 ? Removal::kEvicted : Removal::kDeleted;
    ASSERT_EQ(log.find(page_key(0), 1, sibling(i), 10), expected) << i;
  }
  EXPECT_TRUE(log.find(page_key(0), 1, sibling(5000), 9));
  EXPECT_FALSE(log.find(page_key(0), 1, sibling(5000), 10));
}

TEST(RemovalLog, without_capacity_remembers_nothing) {
  RemovalLog log(0, 1);
  log.add(page_key(0), 1, count_from(0, 64), Removal::kEvicted);
  EXPECT_FALSE(log.find(page_key(0), 1, count_from(0, 64), 0));
}

// Compares the log with a list of the last removals, searched from its end.
TEST(RemovalLog, remembers_exactly_the_last_ones) {
  constexpr size_t kCapacity = 50;
  struct Removed {
    uint64_t parent;
    Chain tokens;
    Removal why;
  };
  Random random(testing::test_seed());
  RemovalLog log(kCapacity, random());
  std::vector<Removed> all;
  for (int i = 0; i < 5000; ++i) {
    const uint64_t parent = random.below(10);
    const auto tokens = count_from(1000 * int32_t(random.below(5)), 1 + random.below(64));
    if (random.below(2) == 0) {
      const auto why = static_cast<Removal>(random.below(kRemovals));
      log.add(page_key(parent), 1, tokens, why);
      all.push_back({parent, tokens, why});
      continue;
    }
    std::optional<Removal> expected;
    size_t longest = 0;
    for (size_t n = 0; n < std::min(kCapacity, all.size()); ++n) {
      const Removed& removed = all[all.size() - 1 - n];
      const bool same = removed.parent == parent && removed.tokens[0] == tokens[0];
      const size_t shared = std::min(removed.tokens.size(), tokens.size());
      if (same && shared > longest) {
        longest = shared;
        expected = removed.why;
      }
    }
    ASSERT_EQ(log.find(page_key(parent), 1, tokens, 0), expected);
  }
  EXPECT_EQ(log.size(), kCapacity);
}

}  // namespace
}  // namespace cascade
