// Why a chain is not found: each reason once, and which reason is given if there are several.
#include <gtest/gtest.h>

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

TEST(Misses, what_is_found_whole_is_none) {
  ChainMemory memory(8);
  memory.run(count_up(0, 200), kSecond);
  EXPECT_EQ(memory.index.explain(memory.tenant, count_up(0, 200)).reason, MissReason::kNone);
  EXPECT_EQ(memory.index.explain(memory.tenant, count_up(0, 64)).reason, MissReason::kNone);
  EXPECT_EQ(memory.index.explain(memory.tenant, {}).reason, MissReason::kNone);
}

TEST(Misses, beyond_the_end_of_what_is_known_all_is_new) {
  ChainMemory memory(8);
  EXPECT_EQ(memory.index.explain(memory.tenant, count_up(0, 9)), (Miss{MissReason::kNew, 0}));
  memory.run(count_up(0, 64), kSecond);
  EXPECT_EQ(memory.index.explain(memory.tenant, count_up(0, 90)), (Miss{MissReason::kNew, 64}));
  memory.run(count_up(0, 100), kSecond);
  EXPECT_EQ(memory.index.explain(memory.tenant, count_up(0, 128)), (Miss{MissReason::kNew, 100}));
}

TEST(Misses, another_token_is_named_with_its_position) {
  ChainMemory memory(8);
  memory.run(count_up(0, 200), kSecond);
  for (const size_t position : {0, 1, 63, 64, 65, 127, 128, 199}) {
    Tokens changed = count_up(0, 200);
    changed[position] = -7;
    EXPECT_EQ(memory.index.explain(memory.tenant, changed),
              (Miss{MissReason::kDiffers, int64_t(position), int32_t(position)}));
  }
}

TEST(Misses, what_was_there_is_told_from_what_never_was) {
  for (const Removal why :
       {Removal::kEvicted, Removal::kDead, Removal::kDeleted, Removal::kExpired}) {
    ChainMemory memory(8);
    memory.run(count_up(0, 200), kSecond);
    if (why == Removal::kEvicted) {
      while (memory.index.node_count() > 1) memory.index.evict_one();
    } else {
      memory.index.drop_branch(memory.tenant, count_up(0, 200), 64, why);
    }
    const auto expected = why == Removal::kEvicted   ? MissReason::kEvicted
                          : why == Removal::kDead    ? MissReason::kDropped
                          : why == Removal::kDeleted ? MissReason::kDeleted
                                                     : MissReason::kExpired;
    // The same reason is given for a prompt that has only a part of the page, or goes on
    // differently after the page.
    for (const size_t count : {65, 100, 128, 200}) {
      EXPECT_EQ(memory.index.explain(memory.tenant, count_up(0, count)), (Miss{expected, 64}));
    }
    const Tokens other = join(count_up(0, 64), count_up(500, 20));
    EXPECT_EQ(memory.index.explain(memory.tenant, other), (Miss{MissReason::kNew, 64}));
  }
}

TEST(Misses, a_page_of_which_a_sibling_has_the_beginning) {
  ChainMemory memory(8);
  const Tokens first = join(count_up(0, 70), count_up(500, 50));
  const Tokens second = join(count_up(0, 70), count_up(600, 50));
  memory.run(first, kSecond);
  memory.run(second, kSecond);
  memory.index.drop_branch(memory.tenant, first, 64, Removal::kDeleted);
  EXPECT_EQ(memory.index.explain(memory.tenant, first), (Miss{MissReason::kDeleted, 70}));
  Tokens third = first;
  third[70] = -1;
  EXPECT_EQ(memory.index.explain(memory.tenant, third), (Miss{MissReason::kDiffers, 70, 600}));
}

TEST(Misses, one_tenant_learns_nothing_of_another) {
  ChainMemory memory(8);
  memory.run(count_up(0, 200), kSecond);
  const TenantId other = memory.index.add_tenant(Hasher().field("tenant", "other").finish());
  EXPECT_EQ(memory.index.explain(other, count_up(0, 200)), (Miss{MissReason::kNew, 0}));
  EXPECT_EQ(memory.index.explain(other, count_up(7, 200)), (Miss{MissReason::kNew, 0}));
  memory.index.drop_branch(memory.tenant, count_up(0, 200), 0, Removal::kDeleted);
  EXPECT_EQ(memory.index.explain(other, count_up(0, 200)), (Miss{MissReason::kNew, 0}));
}

}  // namespace
}  // namespace cascade
