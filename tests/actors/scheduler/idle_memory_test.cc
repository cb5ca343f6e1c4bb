// Pages that nobody needed for a while.
#include "actors/scheduler/idle_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cascade {
namespace {

TEST(IdleMemories, give_back_pages_that_were_free_for_long) {
  constexpr size_t kPageBytes = 64 << 10;
  PagePool pool(2);
  PageArena arena = *PageArena::create(kPageBytes, 2);
  FakeClock clock;
  IdleMemory memory(pool, arena, clock);
  const auto page = pool.allocate();
  ASSERT_TRUE(page.has_value());
  std::memset(arena.data(*page), 7, kPageBytes);
  pool.release(*page);
  clock.advance_us(IdleMemory::kIdleUs);
  memory.give_back();
  EXPECT_EQ(*arena.data(*page), 7) << "it was used a moment ago";
  clock.advance_us(IdleMemory::kIdleUs);
  memory.give_back();
  EXPECT_EQ(*arena.data(*page), 0);
}

}  // namespace
}  // namespace cascade
