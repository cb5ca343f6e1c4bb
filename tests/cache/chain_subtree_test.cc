// The removal of a deleted chunk removes its pages and all pages after them.
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

class Subtrees : public ::testing::Test {
 protected:
  size_t drop(const Tokens& tokens, int64_t keep, bool holds = false) {
    return memory_.index.drop_subtree(memory_.tenant, tokens, keep, Removal::kDeleted, holds);
  }

  ChainMemory memory_{64};
  const Tokens chain_ = count_up(0, 256);
};

TEST_F(Subtrees, go_with_every_continuation) {
  memory_.run(join(first_of(chain_, 192), count_up(500, 100)), kSecond);
  memory_.run(join(first_of(chain_, 192), count_up(700, 100)), kSecond);
  memory_.run(join(first_of(chain_, 64), count_up(900, 30)), kSecond);
  EXPECT_EQ(drop(first_of(chain_, 192), 64), 6u);
  EXPECT_EQ(memory_.available(chain_), 64);
  EXPECT_EQ(memory_.available(join(first_of(chain_, 64), count_up(900, 30))), 94);
  EXPECT_EQ(memory_.index.removed_count(Removal::kDeleted), 6u);
}

TEST_F(Subtrees, of_a_part_of_a_page_go_with_the_pages_that_begin_so) {
  memory_.run(join(first_of(chain_, 70), count_up(500, 100)), kSecond);
  memory_.run(join(first_of(chain_, 69), count_up(700, 100)), kSecond);
  EXPECT_EQ(drop(first_of(chain_, 70), 64), 2u);
  EXPECT_EQ(memory_.available(join(first_of(chain_, 69), count_up(700, 100))), 169);
}

// A sequence that was abandoned midway leaves a page with a part of the chain's last page.
TEST_F(Subtrees, go_with_pages_that_have_a_part_of_the_last_one) {
  memory_.run(first_of(chain_, 100), kSecond);
  EXPECT_EQ(drop(first_of(chain_, 120), 64), 1u);
  EXPECT_EQ(memory_.available(chain_), 64);
  memory_.run(first_of(chain_, 100), kSecond);
  const auto hold = memory_.index.hold(memory_.tenant, first_of(chain_, 80));
  EXPECT_EQ(drop(first_of(chain_, 120), 64), 0u);
  EXPECT_EQ(memory_.available(chain_), 80);
  memory_.index.drop_hold(*hold);
}

TEST_F(Subtrees, leave_what_is_used_or_held) {
  memory_.run(join(first_of(chain_, 128), count_up(500, 64)), kSecond);
  memory_.run(chain_, kSecond);
  const auto hold = memory_.index.hold(memory_.tenant, first_of(chain_, 192));
  EXPECT_EQ(drop(chain_, 0), 2u);
  EXPECT_EQ(memory_.available(chain_), 192);
  ChainIndex::Node* used = memory_.index.match(memory_.tenant, first_of(chain_, 128)).node;
  memory_.index.acquire(used);
  EXPECT_EQ(drop(chain_, 0, /*holds=*/true), 1u);
  EXPECT_FALSE(memory_.index.is_held(*hold));
  memory_.index.release(used);
  EXPECT_EQ(drop(chain_, 0), 2u);
  EXPECT_EQ(memory_.pool.used_count(), 0u);
}

TEST_F(Subtrees, leave_of_a_page_no_more_than_the_holds_that_end_in_it_need) {
  std::vector<std::pair<Digest, Digest>> shortened;
  memory_.index.set_shortened(
      [&](const Digest& before, const Digest& after) { shortened.emplace_back(before, after); });
  memory_.run(first_of(chain_, 120), kSecond);
  const auto shorter = memory_.index.hold(memory_.tenant, first_of(chain_, 80));
  const auto longer = memory_.index.hold(memory_.tenant, first_of(chain_, 100));
  memory_.index.pin(*longer);
  const auto key = [&] {
    return key_of(memory_.index.match(memory_.tenant, chain_).partial);
  };
  const Digest before = key();
  EXPECT_EQ(drop(first_of(chain_, 120), 64), 0u);
  EXPECT_EQ(memory_.available(chain_), 100);
  EXPECT_TRUE(memory_.index.is_pinned(*longer));
  EXPECT_NE(key(), before);
  EXPECT_EQ(memory_.index.find(before), nullptr);
  EXPECT_NE(memory_.index.find(key()), nullptr);
  EXPECT_EQ(shortened, (std::vector{std::pair(before, key())}));
  EXPECT_EQ(drop(first_of(chain_, 100), 64), 0u) << "a hold needs all of it";
  EXPECT_EQ(shortened.size(), 1u);
  memory_.index.drop_hold(*longer);
  EXPECT_EQ(drop(first_of(chain_, 100), 64), 0u);
  EXPECT_EQ(memory_.available(chain_), 80);
  // A sequence can go on from the tokens that are left.
  memory_.run(first_of(chain_, 90), kSecond);
  EXPECT_EQ(memory_.available(chain_), 90);
  memory_.index.drop_hold(*shorter);
  EXPECT_EQ(drop(first_of(chain_, 90), 0), 2u);
  EXPECT_EQ(memory_.pool.used_count(), 0u);
}

TEST_F(Subtrees, move_holds_to_another_page_that_has_what_they_need) {
  const Tokens other = join(first_of(chain_, 90), count_up(500, 20));
  memory_.run(first_of(chain_, 120), kSecond);
  const auto hold = memory_.index.hold(memory_.tenant, first_of(chain_, 80));
  memory_.run(other, kSecond);
  memory_.index.pin(*hold);
  EXPECT_EQ(drop(first_of(chain_, 120), 64), 1u);
  EXPECT_EQ(memory_.available(chain_), 90);
  EXPECT_TRUE(memory_.index.is_pinned(*hold));
  EXPECT_EQ(memory_.index.pinned_count(), 2u);
  EXPECT_EQ(drop(other, 64), 0u);
  EXPECT_EQ(memory_.available(other), 80);
  EXPECT_EQ(memory_.index.pinned_count(), 2u);
}

// A sampled answer whose page also keeps an earlier turn, and the history that replaces the answer.
TEST_F(Subtrees, branches_leave_their_holds_to_the_page_that_has_the_rest) {
  const Tokens sampled = join(first_of(chain_, 90), count_up(500, 20));
  memory_.run(first_of(chain_, 80), kSecond);
  const auto hold = memory_.index.hold(memory_.tenant, first_of(chain_, 80));
  memory_.run(sampled, kSecond);
  memory_.run(first_of(chain_, 110), kSecond);
  const auto drop_it = [&] { return memory_.index.drop_branch(memory_.tenant, sampled, 90); };
  const auto its_own = memory_.index.hold(memory_.tenant, sampled);
  EXPECT_EQ(drop_it(), 0u);
  memory_.index.drop_hold(*its_own);
  EXPECT_EQ(drop_it(), 1u);
  EXPECT_EQ(memory_.available(sampled), 90);
  EXPECT_EQ(memory_.available(chain_), 110);
  EXPECT_TRUE(memory_.index.is_held(*hold));
  EXPECT_EQ(memory_.index.node_count(), 2u);
}

TEST_F(Subtrees, of_public_pages_go_with_what_tenants_have_behind_them) {
  const auto everybodys = memory_.sequence_of(kPublic);
  everybodys->reuse({}, kSecond);
  ASSERT_TRUE(memory_.compute(*everybodys, first_of(chain_, 128), kSecond));
  everybodys->finish(kSecond);
  memory_.run(chain_, kSecond);
  EXPECT_EQ(memory_.index.tenant(memory_.tenant).nodes, 2u);
  // A tenant's deletion leaves public pages alone.
  EXPECT_EQ(drop(chain_, 0), 0u);
  EXPECT_EQ(drop(chain_, 128), 2u);
  memory_.run(chain_, kSecond);
  const auto hold = memory_.index.hold(memory_.tenant, chain_);
  memory_.index.pin(*hold);
  EXPECT_EQ(memory_.index.drop_subtree(kPublic, first_of(chain_, 128), 0, Removal::kDeleted, true),
            4u);
  EXPECT_FALSE(memory_.index.is_held(*hold));
  EXPECT_EQ(memory_.index.pinned_count(), 0u);
  EXPECT_EQ(memory_.pool.used_count(), 0u);
}

TEST_F(Subtrees, of_what_is_not_there_are_empty) {
  EXPECT_EQ(drop(chain_, 0), 0u);
  memory_.run(first_of(chain_, 100), kSecond);
  EXPECT_EQ(drop({}, 0), 0u);
  EXPECT_EQ(drop(first_of(chain_, 50), 64), 0u);
  EXPECT_EQ(drop(first_of(chain_, 64), 64), 0u);
  EXPECT_EQ(drop(join(first_of(chain_, 64), count_up(500, 64)), 64), 0u);
  EXPECT_EQ(drop(join(count_up(500, 64), count_up(0, 64)), 64), 0u);
  EXPECT_EQ(memory_.available(chain_), 100);
}

}  // namespace
}  // namespace cascade
