// The arena: zeroed, aligned, separate pages whose addresses never change.
#include "cache/page_arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace cascade {
namespace {

TEST(PageArena, pages_are_aligned_zeroed_and_separate) {
  auto arena = PageArena::create(5000, 7);
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(arena->page_bytes(), 5000u);
  EXPECT_EQ(arena->page_count(), 7u);
  for (PageIndex page = 0; page < 7; ++page) {
    uint8_t* data = arena->data(page);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 4096, 0u);
    for (size_t i = 0; i < 5000; ++i) ASSERT_EQ(data[i], 0) << page;
    std::memset(data, 1 + static_cast<int>(page), 5000);
  }
  for (PageIndex page = 0; page < 7; ++page) {
    for (size_t i = 0; i < 5000; ++i) ASSERT_EQ(arena->data(page)[i], 1 + page);
  }
}

TEST(PageArena, a_discarded_page_reads_zero_and_its_neighbours_stay) {
  auto arena = PageArena::create(4096, 3);
  ASSERT_TRUE(arena.ok());
  for (PageIndex page = 0; page < 3; ++page) std::memset(arena->data(page), 0xAB, 4096);
  arena->discard(1);
  EXPECT_EQ(arena->data(0)[4095], 0xAB);
  EXPECT_EQ(arena->data(2)[0], 0xAB);
  for (size_t i = 0; i < 4096; ++i) ASSERT_EQ(arena->data(1)[i], 0);
}

TEST(PageArena, knows_which_pages_have_an_index) {
  const auto arena = PageArena::create(100, 3);
  ASSERT_TRUE(arena.ok());
  arena->set_indexed(1, true);
  EXPECT_FALSE(arena->is_indexed(0));
  EXPECT_TRUE(arena->is_indexed(1));
  EXPECT_FALSE(arena->is_indexed(2));
  arena->set_indexed(1, false);
  EXPECT_FALSE(arena->is_indexed(1));
}

TEST(PageArena, moving_keeps_the_addresses) {
  auto first = PageArena::create(100, 2);
  auto other = PageArena::create(200, 3);
  ASSERT_TRUE(first.ok() && other.ok());
  uint8_t* page = first->data(1);
  page[7] = 42;
  first->set_indexed(1, true);
  PageArena moved = *std::move(first);
  EXPECT_EQ(moved.data(1), page);
  *other = std::move(moved);
  EXPECT_EQ(other->data(1), page);
  EXPECT_EQ(other->data(1)[7], 42);
  EXPECT_TRUE(other->is_indexed(1));
  EXPECT_EQ(other->page_bytes(), 100u);
  EXPECT_EQ(other->page_count(), 2u);
}

TEST(PageArena, reserves_more_addresses_than_there_is_memory) {
  constexpr size_t kPageBytes = size_t{1} << 20, kPages = size_t{1} << 20;  // 1 TiB
  auto arena = PageArena::create(kPageBytes, kPages);
  if (!arena.ok()) {
    // This fails only where the system forbids overcommitting.
    EXPECT_EQ(arena.error().code, ErrorCode::kResourceExhausted);
    EXPECT_EQ(arena.error().field, "kv_memory");
    return;
  }
  arena->data(kPages - 1)[kPageBytes - 1] = 9;
  EXPECT_EQ(arena->data(kPages - 1)[kPageBytes - 1], 9);
}

TEST(PageArena, refuses_sizes_that_are_nothing_or_overflow) {
  struct Case {
    size_t page_bytes;
    size_t page_count;
  };
  constexpr size_t kMax = SIZE_MAX;
  const std::vector<Case> cases = {{0, 1},        {1, 0},
                                   {0, 0},        {kMax, 1},
                                   {kMax / 2, 4}, {size_t{1} << 62, 1000},
                                   {4096, kMax},  {1, size_t{1} << 33}};
  for (const Case& c : cases) {
    const auto arena = PageArena::create(c.page_bytes, c.page_count);
    ASSERT_FALSE(arena.ok()) << c.page_bytes << " * " << c.page_count;
    EXPECT_EQ(arena.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(arena.error().field, "kv_memory");
  }
}

TEST(PageArenaDeath, a_page_that_is_not_there_is_a_bug) {
  auto arena = PageArena::create(64, 2);
  ASSERT_TRUE(arena.ok());
  EXPECT_DEATH(arena->data(2), "");
}

}  // namespace
}  // namespace cascade
