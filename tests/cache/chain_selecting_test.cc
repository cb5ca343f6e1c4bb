// Chains that select and are longer than memory: memory for their indexes, and which of their pages
// leave memory.
#include <gtest/gtest.h>

#include <vector>

#include "base/hash.h"
#include "tests/cache/paged_memory.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::kSecond;
using testing::PagedMemory;
using Use = ChainIndex::Use;

TEST(ChainSelecting, memory_for_indexes_evicts_spills_and_is_free_when_the_sequence_ends) {
  PagedMemory memory(6);
  auto reader = memory.reader();
  reader->reuse(count_up(0, 2000), kSecond);
  ASSERT_TRUE(memory.compute_long(*reader, count_up(0, 5 * kPageTokens), kSecond));
  ASSERT_TRUE(reader->reserve_indexes(3));
  ASSERT_TRUE(reader->reserve_indexes(2)) << "it has more";
  EXPECT_EQ(reader->indexes().pages.size(), 3u);
  EXPECT_EQ(memory.pool.used_count(), 6u);
  EXPECT_TRUE(memory.intact_anywhere(*reader));
  EXPECT_TRUE(reader->reserve_indexes(6)) << "all other pages can be read";
  EXPECT_FALSE(reader->reserve_indexes(7));
  EXPECT_EQ(reader->indexes().pages.size(), 6u) << "they stay";
  EXPECT_TRUE(memory.intact_anywhere(*reader));
  memory.finish(std::move(reader), kSecond);
  EXPECT_EQ(memory.pool.used_count(), 0u);
}

TEST(ChainSelecting, indexes_are_counted_apart_and_move_to_the_next_sequence) {
  PagedMemory memory(8);
  auto reader = memory.reader();
  reader->reuse(count_up(0, 2000), kSecond);
  ASSERT_TRUE(memory.compute_long(*reader, count_up(0, 4 * kPageTokens), kSecond));
  ASSERT_TRUE(reader->reserve_indexes(1));
  reader->note_indexed(3);
  reader->note_indexed(2);
  EXPECT_EQ(reader->indexes().count, 3);
  reader->note_indexed(4);
  reader->forget_indexes(3);
  reader->forget_indexes(4);
  EXPECT_EQ(reader->indexes().count, 3);
  for (const PageIndex page : reader->pages()) EXPECT_FALSE(memory.arena.is_indexed(page));
  const PageIndex moved = reader->indexes().pages.front();
  ChainSequence::IndexMemory indexes = reader->take_indexes();
  EXPECT_TRUE(reader->indexes().pages.empty());
  EXPECT_EQ(reader->indexes().count, 0);
  memory.finish(std::move(reader), kSecond);
  auto next = memory.reader();
  EXPECT_EQ(next->reuse(count_up(0, 2000), kSecond), 4 * kPageTokens);
  next->put_indexes(std::move(indexes));
  EXPECT_EQ(next->indexes().count, 3);
  EXPECT_EQ(next->indexes().pages, std::vector<PageIndex>{moved});
  ASSERT_TRUE(next->reserve_indexes(2));
  EXPECT_EQ(next->indexes().pages.front(), moved);
  const size_t used = memory.pool.used_count();
  memory.finish(std::move(next), kSecond);
  EXPECT_EQ(memory.pool.used_count(), used - 2);
}

TEST(ChainSelecting, the_latest_pages_of_a_chain_that_selects_stay_as_long_as_others_can_leave) {
  PagedMemory memory(25);
  auto dense = memory.reader();
  dense->reuse(count_up(0, 2000), kSecond);
  ASSERT_TRUE(memory.compute_long(*dense, count_up(0, 4 * kPageTokens), kSecond));
  const TenantId selecting =
      memory.index.add_tenant(Hasher().field("tenant", "selecting").finish(), {0, 0, 64, 0});
  ChainSequence chain(memory.index, memory.pool, memory.arena, selecting, Use::kReader);
  chain.reuse(count_up(0, 2000), kSecond);
  ASSERT_TRUE(memory.compute_long(chain, count_up(0, 20 * kPageTokens), kSecond));
  const auto spilled = [](ChainSequence& sequence) {
    sequence.refresh();
    std::vector<size_t> pages;
    for (size_t i = 0; i < sequence.pages().size(); ++i) {
      if (!in_memory(sequence.pages()[i])) pages.push_back(i);
    }
    return pages;
  };
  using Pages = std::vector<size_t>;
  ASSERT_EQ(spilled(chain), Pages());
  const auto spill = [&](int pages) {
    for (int i = 0; i < pages; ++i) ASSERT_TRUE(memory.index.evict_one());
  };
  spill(5);
  EXPECT_EQ(spilled(chain), (Pages{1, 2, 3})) << "16 pages come after page 3";
  EXPECT_EQ(spilled(*dense), (Pages{2, 3}));
  spill(3);
  EXPECT_EQ(spilled(chain), (Pages{0, 1, 2, 3}));
  EXPECT_EQ(spilled(*dense), (Pages{0, 1, 2, 3}));
  spill(2);
  EXPECT_EQ(spilled(chain), (Pages{0, 1, 2, 3, 18, 19})) << "nothing else is left";
  EXPECT_TRUE(memory.intact_anywhere(chain));
}

TEST(ChainSelecting, a_miss_in_memory_of_a_chain_that_selects_is_an_evicted_page) {
  PagedMemory memory(30);
  const TenantId selecting =
      memory.index.add_tenant(Hasher().field("tenant", "selecting").finish(), {0, 0, 64, 0});
  ChainSequence chain(memory.index, memory.pool, memory.arena, selecting, Use::kReader);
  chain.reuse(count_up(0, 2000), kSecond);
  ASSERT_TRUE(memory.compute_long(chain, count_up(0, 20 * kPageTokens), kSecond));
  while (memory.spill_one(chain)) {
  }
  const Miss miss = memory.index.explain(selecting, count_up(0, 640));
  EXPECT_EQ(miss.reason, MissReason::kEvicted);
  EXPECT_EQ(miss.position, 0);
}

}  // namespace
}  // namespace cascade
