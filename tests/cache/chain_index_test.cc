// The chain tree: matches, insertion, holds, branches, eviction, each on a small case.
#include "cache/chain_index.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/cache/chain_memory.h"
#include "tests/cache/testing.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::count_up;
using testing::first_of;
using testing::join;
using testing::kSecond;
using testing::Tokens;

TEST(ChainIndex, an_empty_index_matches_nothing) {
  ChainMemory memory(4);
  const auto match = memory.index.match(memory.tenant, count_up(0, 200));
  EXPECT_EQ(match.node, memory.index.root());
  EXPECT_EQ(match.tokens(), 0);
  EXPECT_EQ(match.partial, nullptr);
  EXPECT_EQ(memory.index.match(memory.tenant, {}).tokens(), 0);
  EXPECT_FALSE(memory.index.evict_one());
}

TEST(ChainIndex, matches_whole_pages_and_the_part_of_the_next) {
  ChainMemory memory(8);
  memory.run(count_up(0, 200), kSecond);
  const Tokens all = count_up(0, 200);
  for (const size_t size :
       {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{128}, size_t{199}, size_t{200}}) {
    const auto match = memory.index.match(memory.tenant, first_of(all, size));
    EXPECT_EQ(match.tokens(), static_cast<int64_t>(size));
    EXPECT_EQ(match.pages.size(), size / 64);
    EXPECT_EQ(match.partial_tokens, static_cast<int>(size % 64));
    EXPECT_EQ(match.partial != nullptr, size % 64 != 0);
  }
  EXPECT_EQ(memory.available(count_up(0, 300)), 200);
  // Another token at position 100: the page that has this position is usable up to that position.
  Tokens changed = all;
  changed[100] = -1;
  EXPECT_EQ(memory.available(changed), 100);
  changed[0] = -1;
  EXPECT_EQ(memory.available(changed), 0);
}

TEST(ChainIndex, finds_the_longest_beginning_among_many_siblings) {
  ChainMemory memory(64);
  // Siblings share 0 to 9 tokens with the query and continue with smaller or larger ones.
  for (int32_t shared = 0; shared < 10; ++shared) {
    for (const int32_t next : {-5, 500}) {
      Tokens tokens = count_up(0, static_cast<size_t>(shared));
      tokens.push_back(shared + next);
      memory.run(tokens, kSecond);
    }
  }
  EXPECT_EQ(memory.available(count_up(0, 64)), 9);
  EXPECT_EQ(memory.available(count_up(0, 5)), 5);
  EXPECT_EQ(memory.available(join(count_up(0, 7), count_up(507, 20))), 8);
}

TEST(ChainIndex, the_same_tokens_behind_another_beginning_are_another_chain) {
  ChainMemory memory(8);
  const Tokens same = count_up(1000, 64);
  memory.run(join(count_up(0, 64), same), kSecond);
  EXPECT_EQ(memory.available(join(count_up(1, 64), same)), 0);
  EXPECT_EQ(memory.available(same), 0);
  EXPECT_EQ(memory.run(join(count_up(500, 64), same), kSecond), 0);
  EXPECT_EQ(memory.index.node_count(), 4u);
}

TEST(ChainIndex, negative_and_extreme_ids_are_tokens_like_others) {
  ChainMemory memory(8);
  const Tokens low = {INT32_MIN, INT32_MAX, 0, -1};
  memory.run(low, kSecond);
  EXPECT_EQ(memory.available(low), 4);
  EXPECT_EQ(memory.available(Tokens{INT32_MIN, INT32_MAX, -1}), 2);
}

TEST(ChainIndex, insert_keeps_the_page_of_a_chain_that_is_there) {
  ChainMemory memory(4);
  const PageIndex first = *memory.pool.allocate(), second = *memory.pool.allocate();
  const Tokens tokens = count_up(0, 64);
  ChainIndex::Node* node =
      memory.index.insert(memory.index.root(), memory.tenant, tokens, first, 1);
  EXPECT_EQ(memory.pool.references(first), 2u);
  EXPECT_EQ(memory.index.insert(memory.index.root(), memory.tenant, tokens, second, 2), node);
  EXPECT_EQ(page_of(node), first);
  EXPECT_EQ(memory.pool.references(second), 1u);
  // A beginning of the chain is found there, too.
  EXPECT_EQ(memory.index.insert(memory.index.root(), memory.tenant, count_up(0, 9), second, 2),
            node);
  EXPECT_EQ(memory.index.node_count(), 1u);
  memory.pool.release(first);
  memory.pool.release(second);
  EXPECT_TRUE(memory.index.evict_one());
  EXPECT_EQ(memory.pool.used_count(), 0u);
}

TEST(ChainIndex, a_longer_page_replaces_all_its_beginnings) {
  ChainMemory memory(8);
  for (const size_t size : {3, 7, 20}) {
    const PageIndex page = *memory.pool.allocate();
    memory.index.insert(memory.index.root(), memory.tenant, count_up(0, size), page, kSecond);
    memory.pool.release(page);
    EXPECT_EQ(memory.index.node_count(), 1u) << size;
    EXPECT_EQ(memory.pool.used_count(), 1u) << size;
  }
  EXPECT_EQ(memory.available(count_up(0, 64)), 20);
}

TEST(ChainIndex, a_shorter_page_in_use_stays_beside_the_longer_one) {
  ChainMemory memory(8);
  memory.run(count_up(0, 10), kSecond);
  ChainIndex::Node* shorter = memory.index.match(memory.tenant, count_up(0, 10)).partial;
  memory.index.acquire(shorter);
  memory.run(count_up(0, 64), kSecond);
  EXPECT_EQ(memory.index.node_count(), 2u);
  EXPECT_EQ(memory.index.evictable_count(), 1u);
  EXPECT_EQ(memory.available(count_up(0, 64)), 64);
  memory.index.release(shorter);
  EXPECT_EQ(memory.index.evictable_count(), 2u);
  EXPECT_TRUE(memory.index.evict_one() && memory.index.evict_one());
  EXPECT_EQ(memory.pool.used_count(), 0u);
}

TEST(ChainIndex, a_longer_page_replaces_several_beginnings_that_were_kept_side_by_side) {
  ChainMemory memory(8);
  memory.run(count_up(0, 10), kSecond);
  const auto hold = memory.index.hold(memory.tenant, count_up(0, 10));
  ChainIndex::Node* shorter = memory.index.match(memory.tenant, count_up(0, 10)).partial;
  memory.index.acquire(shorter);
  memory.run(count_up(0, 20), kSecond);
  EXPECT_EQ(memory.index.node_count(), 2u);
  memory.index.release(shorter);
  memory.run(count_up(0, 30), kSecond);
  EXPECT_EQ(memory.index.node_count(), 1u);
  EXPECT_TRUE(memory.index.is_held(*hold));
  EXPECT_TRUE(memory.index.evict_one());
  EXPECT_EQ(memory.pool.used_count(), 0u);
}

TEST(ChainIndex, a_leaf_that_gets_a_child_is_no_leaf_any_more) {
  ChainMemory memory(8);
  const PageIndex first = *memory.pool.allocate(), second = *memory.pool.allocate();
  ChainIndex::Node* parent =
      memory.index.insert(memory.index.root(), memory.tenant, count_up(0, 64), first, 1);
  memory.index.insert(parent, memory.tenant, count_up(64, 5), second, 2 * kSecond);
  EXPECT_TRUE(memory.index.evict_one());
  EXPECT_EQ(memory.available(count_up(0, 69)), 64) << "the younger child goes first";
  EXPECT_TRUE(memory.index.evict_one());
  EXPECT_EQ(memory.index.node_count(), 0u);
}

TEST(ChainIndex, a_chain_of_a_hundred_thousand_pages_is_walked_and_freed_without_recursion) {
  constexpr int kNodes = 100'000;
  ChainMemory memory(1);
  const PageIndex page = *memory.pool.allocate();
  {
    ChainIndex index(Digest(), memory.pool);
    ChainIndex::Node* node = index.root();
    const Tokens tokens = count_up(0, 64);
    for (int i = 0; i < kNodes; ++i) node = index.insert(node, kPublic, tokens, page, i);
    EXPECT_EQ(memory.pool.references(page), 1u + kNodes);
    index.acquire(node);
    index.touch(node, kNodes);
    EXPECT_EQ(index.evictable_count(), 0u);
    index.release(node);
    for (int i = 0; i < kNodes / 2; ++i) ASSERT_TRUE(index.evict_one());
    EXPECT_EQ(memory.pool.references(page), 1u + kNodes / 2);
  }
}

TEST(ChainIndexDeath, misuse_is_caught) {
  ChainMemory memory(8);
  const PageIndex page = *memory.pool.allocate();
  ChainIndex::Node* part =
      memory.index.insert(memory.index.root(), memory.tenant, count_up(0, 5), page, 1);
  EXPECT_DEATH(memory.index.insert(part, memory.tenant, count_up(5, 5), page, 1), "")
      << "not a full parent";
  EXPECT_DEATH(memory.index.insert(memory.index.root(), memory.tenant, {}, page, 1), "")
      << "no tokens";
  EXPECT_DEATH(memory.index.insert(memory.index.root(), memory.tenant, count_up(0, 65), page, 1),
               "");
  EXPECT_DEATH(memory.index.release(part), "") << "not acquired";
  EXPECT_DEATH(page_of(memory.index.root()), "");
}

TEST(ChainIndex, keys_name_the_whole_chain_and_the_root) {
  ChainMemory memory(8), same(8), other(8, "another root");
  const Tokens tokens = count_up(0, 128);
  const auto key = [&](ChainMemory& in, const Tokens& chain) {
    in.run(chain, kSecond);
    return key_of(in.index.match(in.tenant, chain).node);
  };
  const Digest first = key(memory, tokens);
  EXPECT_EQ(key(same, tokens), first);
  EXPECT_NE(key(other, tokens), first);
  Tokens changed = tokens;
  changed[0] = 77;  // a token of the page before
  EXPECT_NE(key(memory, changed), first);
  EXPECT_NE(key_of(memory.index.match(memory.tenant, first_of(tokens, 64)).node),
            first);
}

TEST(ChainIndex, only_leaves_are_evicted_so_a_chain_is_lost_from_its_end) {
  ChainMemory memory(8);
  memory.run(count_up(0, 300), kSecond);
  for (const int64_t left : {256, 192, 128, 64, 0}) {
    EXPECT_TRUE(memory.index.evict_one());
    EXPECT_EQ(memory.available(count_up(0, 300)), left);
  }
  EXPECT_FALSE(memory.index.evict_one());
  EXPECT_EQ(memory.index.removed_count(Removal::kEvicted), 5u);
  EXPECT_EQ(memory.pool.used_count(), 0u);
}

TEST(ChainIndex, evicts_the_leaf_of_lowest_score) {
  ChainMemory memory(8);
  memory.run(count_up(0, 64), 1000 * kSecond);
  memory.run(count_up(1000, 64), 3000 * kSecond);
  memory.run(count_up(2000, 64), 2000 * kSecond);
  memory.index.evict_one();
  EXPECT_EQ(memory.available(count_up(0, 64)), 0);
  memory.index.touch(memory.index.match(memory.tenant, count_up(2000, 64)).node, 4000 * kSecond);
  memory.index.evict_one();
  EXPECT_EQ(memory.available(count_up(1000, 64)), 0);
  EXPECT_EQ(memory.available(count_up(2000, 64)), 64);
}

TEST(ChainIndex, each_request_counts_one_hit) {
  // Two pages found by one request are worth the same, whether or not the request also reuses a
  // part of the next page.
  ChainMemory memory(16);
  memory.run(count_up(0, 100), 0);    // a whole page and a part
  memory.run(count_up(1000, 64), 0);  // a whole page
  for (int i = 0; i < 3; ++i) {
    memory.run(count_up(0, 100), 0);
    memory.run(count_up(1000, 64), (i == 2 ? 10 : 0) * kSecond);
  }
  memory.index.evict_one();  // the partial page: it was found as often and is as old
  while (memory.available(count_up(0, 100)) > 64) ASSERT_TRUE(memory.index.evict_one());
  // Both pages have three hits. The second was used ten seconds later, so the first is evicted.
  memory.index.evict_one();
  EXPECT_EQ(memory.available(count_up(0, 64)), 0);
  EXPECT_EQ(memory.available(count_up(1000, 64)), 64);
}

TEST(ChainIndex, pages_in_use_are_never_evicted) {
  ChainMemory memory(8);
  memory.run(count_up(0, 192), kSecond);
  ChainIndex::Node* used = memory.index.match(memory.tenant, count_up(0, 128)).node;
  memory.index.acquire(used);
  memory.index.acquire(used);
  EXPECT_EQ(memory.index.evictable_count(), 1u);
  EXPECT_TRUE(memory.index.evict_one());
  EXPECT_FALSE(memory.index.evict_one());
  memory.index.release(used);
  EXPECT_FALSE(memory.index.evict_one());
  memory.index.release(used);
  EXPECT_EQ(memory.index.evictable_count(), 2u);
  EXPECT_TRUE(memory.index.evict_one());
  EXPECT_TRUE(memory.index.evict_one());
}

TEST(ChainIndex, holds_need_the_whole_chain) {
  ChainMemory memory(8);
  memory.run(count_up(0, 100), kSecond);
  EXPECT_FALSE(memory.index.hold(memory.tenant, count_up(0, 101)).has_value());
  EXPECT_FALSE(memory.index.hold(memory.tenant, count_up(1, 10)).has_value());
  const auto whole = memory.index.hold(memory.tenant, count_up(0, 100));
  const auto part = memory.index.hold(memory.tenant, count_up(0, 70));
  ASSERT_TRUE(whole.has_value() && part.has_value());
  EXPECT_NE(*whole, *part);
  EXPECT_TRUE(memory.index.is_held(*whole));
  EXPECT_FALSE(memory.index.is_held(9999));
  memory.index.drop_hold(*whole);
  EXPECT_FALSE(memory.index.is_held(*whole));
  EXPECT_TRUE(memory.index.is_held(*part));
  memory.index.drop_hold(*whole);  // dropping the hold again does nothing
  memory.index.drop_hold(9999);
}

TEST(ChainIndex, the_empty_chain_can_be_held) {
  ChainMemory memory(2);
  const auto hold = memory.index.hold(memory.tenant, {});
  ASSERT_TRUE(hold.has_value());
  EXPECT_TRUE(memory.index.is_held(*hold));
  memory.index.drop_hold(*hold);
  EXPECT_FALSE(memory.index.is_held(*hold));
}

TEST(ChainIndex, held_pages_outlive_newer_ones_and_report_their_eviction) {
  ChainMemory memory(8);
  memory.run(count_up(0, 100), kSecond);
  const auto hold = memory.index.hold(memory.tenant, count_up(0, 100));
  memory.run(count_up(1000, 100), 9'000'000 * kSecond);
  memory.index.evict_one();
  memory.index.evict_one();
  EXPECT_EQ(memory.available(count_up(1000, 100)), 0);
  EXPECT_TRUE(memory.index.is_held(*hold));
  EXPECT_EQ(memory.available(count_up(0, 100)), 100);
  memory.index.evict_one();  // only held pages are left
  EXPECT_FALSE(memory.index.is_held(*hold));
  EXPECT_EQ(memory.available(count_up(0, 100)), 64);
  memory.index.drop_hold(*hold);
}

TEST(ChainIndex, the_pages_that_a_lost_hold_leaves_are_ordinary) {
  ChainMemory memory(8);
  memory.run(count_up(0, 100), kSecond);
  ASSERT_TRUE(memory.index.hold(memory.tenant, count_up(0, 100)).has_value());
  memory.index.evict_one();
  memory.run(count_up(1000, 64), 2 * kSecond);
  memory.index.evict_one();
  EXPECT_EQ(memory.available(count_up(0, 64)), 0);
  EXPECT_EQ(memory.available(count_up(1000, 64)), 64);
}

TEST(ChainIndex, each_of_two_holds_keeps_the_shared_part) {
  ChainMemory memory(16);
  const Tokens left = join(count_up(0, 64), count_up(100, 64));
  const Tokens right = join(count_up(0, 64), count_up(500, 64));
  memory.run(left, kSecond);
  memory.run(right, kSecond);
  const auto first = memory.index.hold(memory.tenant, left),
             second = memory.index.hold(memory.tenant, right);
  memory.index.drop_hold(*first);
  memory.run(count_up(9000, 64), 100 * kSecond);
  memory.index.evict_one();  // the end of `left`
  memory.index.evict_one();  // the stranger
  EXPECT_EQ(memory.available(left), 64);
  EXPECT_EQ(memory.available(right), 128);
  EXPECT_TRUE(memory.index.is_held(*second));
}

TEST(ChainIndex, holds_move_to_the_longer_page_that_replaces_theirs) {
  ChainMemory memory(8);
  memory.run(count_up(0, 80), kSecond);
  const auto hold = memory.index.hold(memory.tenant, count_up(0, 80));
  const auto other = memory.index.hold(memory.tenant, count_up(0, 80));
  memory.run(count_up(0, 100), kSecond);
  EXPECT_EQ(memory.index.node_count(), 2u);
  EXPECT_TRUE(memory.index.is_held(*hold) && memory.index.is_held(*other));
  memory.run(count_up(1000, 64), 1000 * kSecond);
  memory.index.evict_one();
  EXPECT_EQ(memory.available(count_up(0, 100)), 100) << "still in the class of held pages";
  memory.index.drop_hold(*hold);
  EXPECT_TRUE(memory.index.is_held(*other));
  memory.index.evict_one();
  EXPECT_FALSE(memory.index.is_held(*other));
  memory.index.evict_one();
  EXPECT_EQ(memory.pool.used_count(), 0u);
}

TEST(ChainIndex, a_hold_of_a_part_of_a_page_keeps_that_page) {
  ChainMemory memory(8);
  memory.run(count_up(0, 192), kSecond);
  const auto hold = memory.index.hold(memory.tenant, count_up(0, 70));
  memory.run(count_up(1000, 64), 1000 * kSecond);
  memory.index.evict_one();
  EXPECT_EQ(memory.available(count_up(0, 192)), 128);
  memory.index.evict_one();
  EXPECT_EQ(memory.available(count_up(1000, 64)), 0);
  EXPECT_TRUE(memory.index.is_held(*hold));
}

TEST(ChainIndex, drop_branch_removes_what_is_behind_the_part_to_keep) {
  ChainMemory memory(16);
  const Tokens chain = count_up(0, 300);
  memory.run(chain, kSecond);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 128), 3u);
  EXPECT_EQ(memory.available(chain), 128);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 128), 0u);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 100), 0u)
      << "the page has tokens to keep";
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 0), 2u);
  EXPECT_EQ(memory.pool.used_count(), 0u);
  EXPECT_EQ(memory.index.removed_count(Removal::kEvicted), 0u) << "dropping is not eviction";
}

TEST(ChainIndex, drop_branch_takes_the_page_of_the_fork_once_another_has_its_beginning) {
  ChainMemory memory(16);
  const Tokens chain = count_up(0, 200);
  const Tokens fork = join(first_of(chain, 150), count_up(900, 42));
  memory.run(chain, kSecond);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 150), 1u)
      << "192..200; 128..192 has tokens to keep";
  EXPECT_EQ(memory.available(chain), 192);
  memory.run(fork, kSecond);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 150), 1u);
  EXPECT_EQ(memory.available(chain), 150);
  EXPECT_EQ(memory.available(fork), 192);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, fork, 151), 0u) << "nobody else has token 150";
}

TEST(ChainIndex, a_chain_that_is_computed_again_counts_as_used) {
  ChainMemory memory(4);
  const Tokens old = count_up(0, 64), other = count_up(500, 64);
  memory.run(old, kSecond);
  memory.run(other, 2 * kSecond);
  const auto late = memory.sequence();  // does not look for the page that exists
  ASSERT_TRUE(memory.compute(*late, old, 1000 * kSecond));
  late->finish(1000 * kSecond);
  memory.index.evict_one();
  EXPECT_EQ(memory.available(old), 64);
  EXPECT_EQ(memory.available(other), 0);
}

TEST(ChainIndex, counts_what_a_use_would_keep_from_eviction) {
  ChainMemory memory(8);
  const Tokens chain = count_up(0, 256);
  memory.run(chain, kSecond);
  ChainIndex::Node* end = memory.index.match(memory.tenant, chain).node;
  ChainIndex::Node* middle = memory.index.match(memory.tenant, first_of(chain, 128)).node;
  EXPECT_EQ(memory.index.taken_by(end), 4u);
  memory.index.acquire(middle);
  EXPECT_EQ(memory.index.taken_by(end), 2u);
  EXPECT_EQ(memory.index.taken_by(middle), 0u);
  EXPECT_EQ(memory.index.evictable_count(), 2u);
  memory.index.release(middle);
  EXPECT_EQ(memory.index.taken_by(memory.index.root()), 0u);
}

TEST(ChainIndex, drop_branch_stops_at_pages_that_others_use_hold_or_continue) {
  ChainMemory memory(32);
  const Tokens chain = count_up(0, 256);
  memory.run(chain, kSecond);
  memory.run(join(first_of(chain, 128), count_up(900, 10)), kSecond);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 0), 2u);
  EXPECT_EQ(memory.available(chain), 128);

  memory.run(chain, kSecond);
  const auto hold = memory.index.hold(memory.tenant, first_of(chain, 192));
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 0), 1u);
  EXPECT_EQ(memory.available(chain), 192);
  memory.index.drop_hold(*hold);

  ChainIndex::Node* used = memory.index.match(memory.tenant, first_of(chain, 192)).node;
  memory.index.acquire(used);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 0), 0u);
  memory.index.release(used);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 0), 1u);
}

TEST(ChainIndex, drop_branch_of_a_chain_whose_end_is_gone_drops_the_rest) {
  ChainMemory memory(8);
  const Tokens chain = count_up(0, 250);
  memory.run(chain, kSecond);
  memory.index.evict_one();
  memory.index.evict_one();
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, chain, 64), 1u);
  EXPECT_EQ(memory.available(chain), 64);
}

TEST(ChainIndex, a_branch_of_another_chain_is_not_dropped) {
  ChainMemory memory(8);
  memory.run(count_up(0, 128), kSecond);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, count_up(1, 128), 0), 0u);
  EXPECT_EQ(memory.index.drop_branch(memory.tenant, {}, 0), 0u);
  EXPECT_EQ(memory.available(count_up(0, 128)), 128);
}

}  // namespace
}  // namespace cascade
