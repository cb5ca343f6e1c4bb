// Running sequences: what they share, what they copy, what they leave, and what they never disturb.
#include "cache/chain_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
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

TEST(ChainSequence, reuses_what_an_earlier_sequence_left) {
  ChainMemory memory(16);
  EXPECT_EQ(memory.run(count_up(0, 200), kSecond), 0);
  EXPECT_EQ(memory.run(count_up(0, 200), kSecond), 200);
  EXPECT_EQ(memory.run(count_up(0, 150), kSecond), 150);
  EXPECT_EQ(memory.run(join(count_up(0, 130), count_up(900, 60)), kSecond), 130);
  EXPECT_EQ(memory.run(join(count_up(0, 130), count_up(900, 60)), kSecond), 190);
}

TEST(ChainSequence, whole_pages_are_shared_and_partial_ones_are_copied) {
  ChainMemory memory(16);
  memory.run(count_up(0, 100), kSecond);
  const auto a = memory.sequence(), b = memory.sequence();
  EXPECT_EQ(a->reuse(count_up(0, 90), kSecond), 90);
  EXPECT_EQ(b->reuse(count_up(0, 100), kSecond), 100);
  EXPECT_EQ(a->pages()[0], b->pages()[0]);
  EXPECT_NE(a->pages()[1], b->pages()[1]);
  const auto kept = memory.index.match(memory.tenant, count_up(0, 100));
  EXPECT_NE(page_of(kept.partial), a->pages()[1]);
  EXPECT_NE(page_of(kept.partial), b->pages()[1]);
  // Both continue differently. Neither changes the other, nor the page that they copied.
  EXPECT_TRUE(memory.compute(*a, count_up(7000, 20), kSecond));
  EXPECT_TRUE(memory.compute(*b, count_up(8000, 20), kSecond));
  EXPECT_TRUE(memory.intact(*a) && memory.intact(*b));
  EXPECT_EQ(memory.run(count_up(0, 100), kSecond), 100);
}

TEST(ChainSequence, its_end_gives_back_the_pages_that_it_uses_alone) {
  ChainMemory memory(16);
  memory.run(count_up(0, 128), kSecond);
  const auto hold = memory.index.hold(memory.tenant, count_up(0, 64));
  ASSERT_TRUE(hold.has_value());
  auto a = memory.sequence(), b = memory.sequence();
  EXPECT_EQ(a->reuse(count_up(0, 128), kSecond), 128);
  ASSERT_TRUE(memory.compute(*a, count_up(7000, 100), kSecond));
  ASSERT_TRUE(a->reserve(400));
  EXPECT_EQ(a->pages_alone(), 7);
  memory.index.pin(*hold);
  EXPECT_EQ(a->pages_alone(), 6);
  EXPECT_EQ(b->reuse(count_up(0, 128), kSecond), 128);
  EXPECT_EQ(a->pages_alone(), 5);
  EXPECT_EQ(b->pages_alone(), 0);
  const auto to_take = [&] { return memory.pool.free_count() + memory.index.evictable_count(); };
  const size_t before = to_take();
  a->finish(kSecond);
  EXPECT_EQ(to_take(), before + 5);
}

TEST(ChainSequence, finds_nothing_of_another_tenant_in_its_pages) {
  ChainMemory memory(1);
  const TenantId other = memory.index.add_tenant(Hasher().field("tenant", "other").finish());
  const auto filled = [&](const ChainSequence& sequence) {
    const uint8_t* const bytes = memory.arena.data(sequence.pages()[0]);
    return std::any_of(bytes, bytes + memory.arena.page_bytes(), [](uint8_t b) { return b != 0; });
  };
  auto first = memory.sequence();
  ASSERT_TRUE(first->reserve(1));
  std::memset(memory.arena.data(first->pages()[0]), 7, memory.arena.page_bytes());
  first.reset();
  auto again = memory.sequence();
  ASSERT_TRUE(again->reserve(1));
  EXPECT_TRUE(filled(*again)) << "what is one's own need not be cleared";
  again.reset();
  const auto stranger = memory.sequence_of(other);
  ASSERT_TRUE(stranger->reserve(1));
  EXPECT_FALSE(filled(*stranger));
}

TEST(ChainSequence, a_page_that_gets_other_tokens_has_no_index) {
  ChainMemory memory(2);
  memory.run(count_up(0, 100), kSecond);
  for (PageIndex page = 0; page < 2; ++page) memory.arena.set_indexed(page, true);
  {
    const auto same = memory.sequence();
    EXPECT_EQ(same->reuse(count_up(0, 64), kSecond), 64);
    EXPECT_TRUE(memory.arena.is_indexed(same->pages()[0]));
  }
  const auto other = memory.sequence();
  EXPECT_EQ(other->reuse(count_up(900, 100), kSecond), 0);
  EXPECT_TRUE(other->reserve(100));
  for (const PageIndex page : other->pages()) EXPECT_FALSE(memory.arena.is_indexed(page));
}

TEST(ChainSequence, full_pages_are_found_while_their_sequence_still_runs) {
  ChainMemory memory(16);
  const auto running = memory.sequence();
  running->reuse({}, kSecond);
  ASSERT_TRUE(memory.compute(*running, count_up(0, 150), kSecond));
  const auto second = memory.sequence();
  EXPECT_EQ(second->reuse(count_up(0, 150), kSecond), 128) << "the last page is not ready";
  EXPECT_TRUE(memory.intact(*second));
}

TEST(ChainSequence, of_two_that_compute_the_same_the_first_page_is_kept) {
  ChainMemory memory(16);
  const auto a = memory.sequence(), b = memory.sequence();
  a->reuse({}, kSecond);
  b->reuse({}, kSecond);
  ASSERT_TRUE(memory.compute(*a, count_up(0, 130), kSecond));
  ASSERT_TRUE(memory.compute(*b, count_up(0, 130), kSecond));
  EXPECT_EQ(a->pages()[0], b->pages()[0]);
  EXPECT_EQ(a->pages()[1], b->pages()[1]);
  EXPECT_NE(a->pages()[2], b->pages()[2]);
  EXPECT_EQ(memory.pool.used_count(), 4u);
  EXPECT_TRUE(memory.intact(*a) && memory.intact(*b));
  a->finish(kSecond);
  b->finish(kSecond);
  EXPECT_EQ(memory.pool.used_count(), 3u);
}

TEST(ChainSequence, takes_over_a_page_even_when_it_is_sealed_token_by_token) {
  ChainMemory memory(16);
  memory.run(count_up(0, 64), kSecond);
  const auto late = memory.sequence();
  for (int32_t i = 0; i < 70; ++i) {
    ASSERT_TRUE(memory.compute(*late, Tokens{i}, kSecond));
    ASSERT_TRUE(memory.intact(*late));
  }
  EXPECT_EQ(memory.pool.used_count(), 2u);
}

TEST(ChainSequence, finish_leaves_the_last_page_and_is_idempotent) {
  ChainMemory memory(8);
  const auto running = memory.sequence();
  running->reuse({}, kSecond);
  ASSERT_TRUE(memory.compute(*running, count_up(0, 70), kSecond));
  EXPECT_EQ(memory.available(count_up(0, 70)), 64);
  running->finish(kSecond);
  running->finish(kSecond);
  EXPECT_EQ(memory.available(count_up(0, 70)), 70);
  EXPECT_EQ(memory.index.evictable_count(), 2u);
}

TEST(ChainSequence, its_destructor_lets_go_of_everything) {
  ChainMemory memory(8);
  {
    const auto running = memory.sequence();
    running->reuse({}, kSecond);
    ASSERT_TRUE(memory.compute(*running, count_up(0, 70), kSecond));
    ASSERT_TRUE(running->reserve(400));
  }
  EXPECT_EQ(memory.pool.used_count(), 2u);
  EXPECT_EQ(memory.index.evictable_count(), 2u);
  EXPECT_EQ(memory.available(count_up(0, 70)), 70);
}

TEST(ChainSequence, one_that_never_began_leaves_nothing) {
  ChainMemory memory(8);
  memory.sequence();
  memory.sequence()->finish(kSecond);
  const auto reserved = memory.sequence();
  EXPECT_TRUE(reserved->reserve(130));
  EXPECT_EQ(memory.pool.used_count(), 3u);
  reserved->finish(kSecond);
  EXPECT_EQ(memory.pool.used_count(), 0u);
  EXPECT_EQ(memory.index.node_count(), 0u);
}

TEST(ChainSequence, reserve_evicts_the_unused_and_stops_at_the_used) {
  ChainMemory memory(4);
  memory.run(count_up(0, 128), kSecond);
  const auto user = memory.sequence();
  ASSERT_EQ(user->reuse(count_up(0, 64), kSecond), 64);
  const auto greedy = memory.sequence();
  greedy->reuse({}, kSecond);
  EXPECT_TRUE(greedy->reserve(192)) << "three pages besides the one in use";
  EXPECT_EQ(memory.index.removed_count(Removal::kEvicted), 1u);
  EXPECT_FALSE(greedy->reserve(193));
  EXPECT_EQ(greedy->pages().size(), 3u) << "what it had stays";
  EXPECT_TRUE(memory.intact(*user));
  user->finish(kSecond);
  EXPECT_TRUE(greedy->reserve(256));
}

TEST(ChainSequence, reserving_less_than_it_has_changes_nothing) {
  ChainMemory memory(4);
  const auto running = memory.sequence();
  EXPECT_TRUE(running->reserve(65));
  EXPECT_TRUE(running->reserve(1));
  EXPECT_TRUE(running->reserve(128));
  EXPECT_EQ(running->pages().size(), 2u);
}

TEST(ChainSequence, without_room_for_the_copy_only_whole_pages_are_reused) {
  ChainMemory memory(2);
  memory.run(count_up(0, 100), kSecond);
  const auto running = memory.sequence();
  // Both pages are needed: one is shared, the other would be copied.
  EXPECT_EQ(running->reuse(count_up(0, 100), kSecond), 64);
  EXPECT_EQ(running->pages().size(), 1u);
  EXPECT_TRUE(memory.intact(*running));
  // Now the partial page may be evicted, and its memory serves the rest.
  EXPECT_TRUE(memory.compute(*running, count_up(64, 36), kSecond));
  EXPECT_TRUE(memory.intact(*running));
}

TEST(ChainSequence, the_page_to_copy_is_not_evicted_to_make_room_for_its_copy) {
  ChainMemory memory(3);
  memory.run(count_up(0, 40), kSecond);  // old: evicted first if it were not in use
  memory.run(count_up(1000, 128), 900 * kSecond);
  const auto running = memory.sequence();
  EXPECT_EQ(running->reuse(count_up(0, 64), 901 * kSecond), 40);
  EXPECT_TRUE(memory.intact(*running));
  EXPECT_EQ(memory.available(count_up(1000, 128)), 64);
}

TEST(ChainSequence, reuse_of_everything_shares_all_pages) {
  ChainMemory memory(4);
  memory.run(count_up(0, 128), kSecond);
  const auto running = memory.sequence();
  EXPECT_EQ(running->reuse(count_up(0, 128), kSecond), 128);
  EXPECT_EQ(memory.pool.used_count(), 2u);
  EXPECT_TRUE(memory.compute(*running, count_up(128, 1), kSecond));
  EXPECT_TRUE(memory.intact(*running));
}

TEST(ChainSequence, the_output_of_one_turn_is_the_history_of_the_next) {
  ChainMemory memory(64);
  Tokens history;
  for (int turn = 0; turn < 12; ++turn) {
    const Tokens prompt = join(history, count_up(10'000 * (turn + 1), 17));
    const auto running = memory.sequence();
    EXPECT_EQ(running->reuse(prompt, turn * kSecond), static_cast<int64_t>(history.size()));
    const auto rest = std::span(prompt).subspan(history.size());
    ASSERT_TRUE(memory.compute(*running, rest, turn * kSecond));
    for (int32_t i = 0; i < 25; ++i) {
      ASSERT_TRUE(memory.compute(*running, Tokens{500'000 + i}, turn * kSecond));
    }
    ASSERT_TRUE(memory.intact(*running));
    history = running->tokens();
  }
  EXPECT_EQ(memory.index.node_count(), (history.size() + 63) / 64) << "no page is kept twice";
}

TEST(ChainSequence, a_million_tokens_neither_overflow_the_stack_nor_leak) {
  constexpr size_t kTokens = 1'000'000, kPages = kTokens / 64 + 2;
  const auto arena = PageArena::create(64, kPages);
  ASSERT_TRUE(arena.ok());
  PagePool pool(kPages);
  const Tokens chain = count_up(0, kTokens);
  ChainIndex index(Digest(), pool);
  {
    ChainSequence running(index, pool, *arena, kPublic);
    ASSERT_TRUE(running.reserve(kTokens));
    running.commit(chain, kSecond);
    running.finish(kSecond);
  }
  EXPECT_EQ(index.match(kPublic, chain).tokens(), static_cast<int64_t>(kTokens));
  const auto hold = index.hold(kPublic, chain);
  ASSERT_TRUE(hold.has_value());
  {
    ChainSequence again(index, pool, *arena, kPublic);
    EXPECT_EQ(again.reuse(chain, 2 * kSecond), static_cast<int64_t>(kTokens));
  }
  EXPECT_EQ(index.drop_branch(kPublic, chain, 0), 0u) << "held";
  index.drop_hold(*hold);
  EXPECT_EQ(index.drop_branch(kPublic, chain, 64 * 1000), kTokens / 64 - 1000);
  while (index.evict_one()) {
  }
  EXPECT_EQ(pool.used_count(), 0u);
}

TEST(ChainSequenceDeath, misuse_is_caught) {
  ChainMemory memory(4);
  const auto running = memory.sequence();
  EXPECT_DEATH(running->commit(count_up(0, 1), kSecond), "") << "not reserved";
  ASSERT_TRUE(memory.compute(*running, count_up(0, 5), kSecond));
  EXPECT_DEATH(running->reuse(count_up(0, 5), kSecond), "") << "not first";
  EXPECT_DEATH(running->commit(count_up(0, 60), kSecond), "") << "more than reserved";
  running->finish(kSecond);
  EXPECT_DEATH(running->commit(count_up(0, 1), kSecond), "") << "finished";
}

TEST(ChainSequence, gives_back_what_it_has_reserved_and_does_not_need) {
  ChainMemory memory(16);
  const auto sequence = memory.sequence();
  sequence->reuse({}, kSecond);
  ASSERT_TRUE(sequence->reserve(640));
  sequence->unreserve();
  EXPECT_EQ(memory.pool.used_count(), 0u);
  ASSERT_TRUE(memory.compute(*sequence, count_up(0, 100), kSecond));
  ASSERT_TRUE(sequence->reserve(640));
  sequence->unreserve();
  EXPECT_EQ(memory.pool.used_count(), 2u);
  EXPECT_TRUE(memory.intact(*sequence));
}

}  // namespace
}  // namespace cascade
