// Notes of which pages have the text of which chunks.
#include "cache/chunk_uses.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/cache/testing.h"

namespace cascade {
namespace {

using testing::page;

TEST(ChunkUses, are_taken_from_the_ends_of_chains_on) {
  ChunkUses uses(100, [](const Digest&) { return true; });
  EXPECT_TRUE(uses.add({"t", "a"}, {page(1), 0, false}));
  EXPECT_TRUE(uses.add({"t", "a"}, {page(3), 128, true}));
  EXPECT_TRUE(uses.add({"t", "a"}, {page(2), 64, false}));
  EXPECT_TRUE(uses.add({"t", "b"}, {page(2), 64, false}));
  EXPECT_FALSE(uses.add({"t", "a"}, {page(2), 64, false}));
  EXPECT_EQ(uses.size(), 4u);
  const auto taken = uses.take({"t", "a"});
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[0].page, page(3));
  EXPECT_TRUE(taken[0].ends);
  EXPECT_EQ(taken[1].page, page(2));
  EXPECT_EQ(taken[2].position, 0);
  EXPECT_TRUE(uses.take({"t", "a"}).empty());
  EXPECT_EQ(uses.size(), 1u);
}

TEST(ChunkUses, of_a_page_are_those_of_all_chunks) {
  ChunkUses uses(100, [](const Digest&) { return true; });
  uses.add({"t", "a"}, {page(1), 0, true});
  uses.add({"u", "a"}, {page(1), 0, false});
  uses.add({"u", "a"}, {page(1), 0, true});  // the text ends there in another conversation
  std::vector<ChunkUses::ChunkName> chunks;
  uses.for_chunks_of(page(1), [&](const ChunkUses::ChunkName& chunk, bool ends) {
    chunks.push_back(chunk);
    EXPECT_TRUE(ends);
  });
  EXPECT_EQ(chunks, (std::vector<ChunkUses::ChunkName>{{"t", "a"}, {"u", "a"}}));
  uses.take({"t", "a"});
  uses.take({"u", "a"});
  uses.for_chunks_of(page(1), [](const auto&, bool) { ADD_FAILURE(); });
}

TEST(ChunkUses, of_pages_that_are_gone_make_room_for_others) {
  std::set<Digest> there;
  ChunkUses uses(64, [&](const Digest& key) { return there.contains(key); });
  for (uint64_t n = 0; n < 1000; ++n) {
    if (n >= 20) there.erase(page(n - 20));
    there.insert(page(n));
    EXPECT_TRUE(uses.add({"t", std::to_string(n % 7)}, {page(n), 0, true})) << n;
    EXPECT_LE(uses.size(), 64u);
  }
  size_t found = 0;
  for (uint64_t n = 0; n < 7; ++n) found += uses.take({"t", std::to_string(n)}).size();
  EXPECT_GE(found, 20u);
  EXPECT_EQ(uses.size(), 0u);
}

TEST(ChunkUses, are_copied_to_another_name_of_the_page) {
  ChunkUses uses(100, [](const Digest&) { return true; });
  uses.add({"t", "a"}, {page(1), 64, true});
  uses.add({"t", "b"}, {page(1), 64, false});
  uses.copy(page(1), page(2));
  uses.copy(page(7), page(8));
  EXPECT_EQ(uses.size(), 4u);
  const auto taken = uses.take({"t", "a"});
  ASSERT_EQ(taken.size(), 2u);
  for (const ChunkUses::Use& use : taken) {
    EXPECT_EQ(use.position, 64);
    EXPECT_TRUE(use.ends);
  }
  EXPECT_FALSE(uses.add({"t", "b"}, {page(2), 64, false}));
}

TEST(ChunkUses, beyond_the_limit_are_not_noted_until_there_is_room) {
  std::set<Digest> gone;
  ChunkUses uses(64, [&](const Digest& key) { return !gone.contains(key); });
  for (uint64_t n = 0; n < 64; ++n) EXPECT_TRUE(uses.add({"t", "a"}, {page(n), 0, true}));
  EXPECT_FALSE(uses.add({"t", "b"}, {page(100), 0, true}));
  EXPECT_EQ(uses.size(), 64u);
  for (uint64_t n = 0; n < 10; ++n) gone.insert(page(n));
  bool noted = false;
  for (uint64_t n = 0; n < 10 && !noted; ++n) {
    noted = uses.add({"t", "b"}, {page(200 + n), 0, true});
  }
  EXPECT_TRUE(noted);
}

}  // namespace
}  // namespace cascade
