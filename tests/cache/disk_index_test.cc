// Names of pages on disk: what is found by tokens, and what is removed together.
#include "cache/disk_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "cache/chain_key.h"
#include "cache/kv_view.h"
#include "tests/seed.h"

namespace cascade {
namespace {

Digest name(uint64_t n) {
  return Hasher().field("n", n).finish();
}

std::vector<int32_t> tokens(size_t count, int32_t first = 0) {
  std::vector<int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Adds the pages of `chain`. Returns their keys.
std::vector<Digest> add_chain(DiskIndex& index, const Digest& from, const Digest* tenant,
                              std::span<const int32_t> chain) {
  std::vector<Digest> keys;
  Digest parent = from;
  for (size_t begin = 0; begin < chain.size(); begin += kPageTokens) {
    const auto page = chain.subspan(begin, std::min<size_t>(kPageTokens, chain.size() - begin));
    keys.push_back(chain_key(parent, tenant, page));
    index.add(keys.back(), parent, static_cast<int32_t>(page.size()));
    parent = keys.back();
    tenant = nullptr;
  }
  return keys;
}

const auto kNothingKept = [](const Digest&) { return false; };

class DiskIndexTest : public ::testing::Test {
 protected:
  DiskIndex index_;
  const Digest root_ = name(0);
  const Digest tenant_ = name(1);
};

TEST_F(DiskIndexTest, finds_the_longest_part_of_a_chain) {
  const std::vector<int32_t> chain = tokens(150);
  const std::vector<Digest> keys = add_chain(index_, root_, &tenant_, chain);
  ASSERT_EQ(keys.size(), 3u);
  const auto all = index_.match(root_, &tenant_, tokens(200));
  EXPECT_EQ(all.keys, keys);
  EXPECT_EQ(all.tokens, 150);
  // The last page counts whole or not at all.
  const auto part = index_.match(root_, &tenant_, tokens(149));
  EXPECT_EQ(part.tokens, 128);
  EXPECT_EQ(part.keys.size(), 2u);
  // Finds the pages on disk that follow a page in memory.
  EXPECT_EQ(index_.match(keys[0], nullptr, tokens(86, 64)).tokens, 86);
  std::vector<int32_t> other = chain;
  other[100] = -1;
  EXPECT_EQ(index_.match(root_, &tenant_, other).tokens, 64);
  EXPECT_EQ(index_.match(root_, &tenant_, {}).tokens, 0);
}

TEST_F(DiskIndexTest, another_tenant_or_model_finds_nothing) {
  add_chain(index_, root_, &tenant_, tokens(64));
  const Digest other = name(2);
  EXPECT_EQ(index_.match(root_, &other, tokens(64)).tokens, 0);
  EXPECT_EQ(index_.match(root_, nullptr, tokens(64)).tokens, 0);
  EXPECT_EQ(index_.match(other, &tenant_, tokens(64)).tokens, 0);
}

TEST_F(DiskIndexTest, of_short_pages_the_longest_that_fits_is_found) {
  for (const size_t end : {70u, 80u, 90u}) add_chain(index_, root_, &tenant_, tokens(end));
  EXPECT_EQ(index_.size(), 4u);
  EXPECT_EQ(index_.match(root_, &tenant_, tokens(85)).tokens, 80);
  EXPECT_EQ(index_.match(root_, &tenant_, tokens(90)).tokens, 90);
  EXPECT_EQ(index_.match(root_, &tenant_, tokens(69)).tokens, 64);
}

TEST_F(DiskIndexTest, a_page_that_is_missing_ends_the_match) {
  const auto keys = add_chain(index_, root_, &tenant_, tokens(192));
  index_.remove(keys[1]);
  index_.remove(keys[1]);
  EXPECT_EQ(index_.match(root_, &tenant_, tokens(192)).tokens, 64);
  EXPECT_EQ(index_.size(), 2u);
  index_.add(keys[1], keys[0], 64);
  EXPECT_EQ(index_.match(root_, &tenant_, tokens(192)).tokens, 192);
}

TEST_F(DiskIndexTest, keys_of_a_chain_go_on_behind_a_page_that_is_missing) {
  const std::vector<int32_t> chain = tokens(200);
  const auto keys = add_chain(index_, root_, &tenant_, chain);
  ASSERT_EQ(keys.size(), 4u);
  EXPECT_EQ(index_.keys_of(root_, &tenant_, chain), keys);
  for (const size_t gap : {0, 1, 2}) {
    index_.remove(keys[gap]);
    EXPECT_EQ(index_.keys_of(root_, &tenant_, chain), keys) << gap;
  }
  index_.remove(keys[3]);  // this page has 8 tokens; a missing page has no length
  EXPECT_EQ(index_.keys_of(root_, &tenant_, chain).size(), 3u);
  // In the place of a missing page: the end of another chain that this chain begins with.
  const auto end = add_chain(index_, keys[0], nullptr, std::span(chain).subspan(64, 20));
  EXPECT_EQ(index_.keys_of(root_, &tenant_, chain), (std::vector{keys[0], end[0], keys[2]}));
}

TEST_F(DiskIndexTest, a_subtree_goes_on_from_a_page_that_is_missing) {
  const auto keys = add_chain(index_, root_, &tenant_, tokens(192));
  index_.remove(keys[0]);
  EXPECT_EQ(index_.subtree(keys[0], kNothingKept), (std::vector{keys[2], keys[1]}));
}

TEST_F(DiskIndexTest, a_subtree_spares_what_leads_to_kept_pages) {
  const auto trunk = add_chain(index_, root_, &tenant_, tokens(192));
  std::vector<int32_t> fork = tokens(192);
  fork[130] = -1;
  const auto branch = add_chain(index_, root_, &tenant_, fork);
  auto gone = index_.subtree(trunk[1], kNothingKept);
  EXPECT_EQ(gone.size(), 3u);
  EXPECT_EQ(gone.back(), trunk[1]);  // children first
  gone = index_.subtree(trunk[1], [&](const Digest& key) { return key == branch[2]; });
  EXPECT_EQ(gone, std::vector<Digest>{trunk[2]});
  EXPECT_TRUE(index_.subtree(name(99), kNothingKept).empty());
}

TEST_F(DiskIndexTest, a_path_leads_from_the_end_to_the_beginning) {
  const auto keys = add_chain(index_, root_, &tenant_, tokens(150));
  const auto path = index_.path(keys[2]);
  ASSERT_EQ(path.size(), 3u);
  EXPECT_EQ(path[0].key, keys[2]);
  EXPECT_EQ(path[0].tokens, 150 - 128);
  EXPECT_EQ(path[2].key, keys[0]);
  EXPECT_TRUE(index_.path(root_).empty());
}

TEST_F(DiskIndexTest, names_in_a_circle_end_too) {
  index_.add(name(5), name(6), 64);
  index_.add(name(6), name(5), 64);
  EXPECT_LE(index_.path(name(5)).size(), 2u);
  EXPECT_FALSE(index_.subtree(name(5), kNothingKept).empty());
}

// Compares the index with chains in a list, under random additions and removals.
TEST_F(DiskIndexTest, agrees_with_a_naive_list) {
  Random random(testing::test_seed());
  std::vector<std::vector<int32_t>> chains;
  for (int round = 0; round < 300; ++round) {
    std::vector<int32_t> chain = tokens(1 + random.below(300));
    for (size_t i = random.below(300); i < chain.size(); i += 100) chain[i] = -1;
    if (random.below(3) > 0) {
      add_chain(index_, root_, &tenant_, chain);
      chains.push_back(chain);
    }
    int64_t expected = 0;
    for (const auto& stored : chains) {
      const auto shared =
          static_cast<size_t>(std::ranges::mismatch(stored, chain).in1 - stored.begin());
      const size_t whole = shared / kPageTokens * kPageTokens;
      expected = std::max(expected, static_cast<int64_t>(shared == stored.size() ? shared : whole));
    }
    EXPECT_EQ(index_.match(root_, &tenant_, chain).tokens, expected);
  }
}

}  // namespace
}  // namespace cascade
