// Chains of approximations: they begin like exact ones, which never see them.
#include <gtest/gtest.h>

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

class ApproximateChains : public ::testing::Test {
 protected:
  static AttentionMode mask() {
    AttentionMode mode;
    mode.approximation = Approximation::kMask;
    return mode;
  }
  // Adds `tokens` for the approximation; `free` positions come before what is not there yet.
  int64_t add(const Tokens& tokens, int64_t free = 0) {
    const auto sequence = memory_.sequence_of(approximate_);
    const int64_t reused = sequence->reuse(tokens, kSecond);
    sequence->set_free_positions(free);
    EXPECT_TRUE(memory_.compute(*sequence, std::span(tokens).subspan(reused), kSecond));
    return reused;
  }
  // The tokens of a match in pages of the approximation.
  int64_t own(const ChainIndex::Match& match) const {
    int64_t tokens = 0;
    for (ChainIndex::Node* node : path_to(match.last())) {
      const ChainIndex::PageName page = name_of(node);
      if (page.owner == approximate_) tokens += std::ssize(page.tokens);
    }
    return tokens;
  }
  ChainIndex::Match find(const Tokens& tokens) { return memory_.index.match(approximate_, tokens); }

  ChainMemory memory_{64};
  const TenantId approximate_ =
      memory_.index.add_tenant(Hasher().field("tenant", "mask").finish(), mask(), memory_.tenant);
  const Tokens prompt_ = count_up(0, 100);
  const Tokens turn_ = join(prompt_, count_up(500, 80));
};

TEST_F(ApproximateChains, begin_with_exact_pages_and_share_them) {
  memory_.run(prompt_, kSecond);
  const size_t before = memory_.index.node_count();
  EXPECT_EQ(add(turn_), 100);
  EXPECT_EQ(memory_.index.node_count(), before + 2) << "the page of the answer, and the next";
  EXPECT_EQ(find(turn_).tokens(), 180);
  EXPECT_EQ(own(find(turn_)), 180 - 64);
  EXPECT_EQ(find(prompt_).pages[0], memory_.index.match(memory_.tenant, prompt_).pages[0]);
}

TEST_F(ApproximateChains, are_not_found_by_the_exact_tenant) {
  memory_.run(prompt_, kSecond);
  add(turn_);
  EXPECT_EQ(memory_.available(turn_), 100);
  memory_.run(turn_, kSecond);
  EXPECT_EQ(memory_.available(turn_), 180);
  // Each tenant goes on with its own.
  const Tokens next = join(turn_, count_up(900, 30));
  EXPECT_EQ(add(next), 180);
  EXPECT_EQ(memory_.available(next), 180);
}

TEST_F(ApproximateChains, begin_after_public_pages_too) {
  const auto shared = memory_.sequence_of(kPublic);
  ASSERT_TRUE(memory_.compute(*shared, first_of(prompt_, 64), kSecond));
  shared->finish(kSecond);
  EXPECT_EQ(add(turn_), 64);
  EXPECT_EQ(own(find(turn_)), 180 - 64);
}

TEST_F(ApproximateChains, an_exact_chain_that_is_as_long_is_preferred) {
  add(turn_);
  EXPECT_EQ(own(find(turn_)), 180);
  memory_.run(turn_, kSecond);
  EXPECT_EQ(own(find(turn_)), 0);
}

TEST_F(ApproximateChains, remember_the_free_positions_before_their_last_token) {
  memory_.run(prompt_, kSecond);
  add(turn_, 40);
  EXPECT_EQ(taken_out(find(turn_).last()).free, 40);
  EXPECT_EQ(taken_out(find(turn_).last()).free_begin, 100);
  const auto next = memory_.sequence_of(approximate_);
  next->reuse(turn_, kSecond);
  EXPECT_EQ(next->free_positions(), 40);
  next->set_free_positions(30);
  EXPECT_EQ(next->free_positions(), 40) << "positions never come back";
  EXPECT_EQ(find(prompt_).tokens(), 100);
  EXPECT_EQ(taken_out(find(prompt_).last()).free, 0);
}

TEST_F(ApproximateChains, a_part_of_a_page_is_found_if_its_free_positions_are_known) {
  memory_.run(first_of(prompt_, 64), kSecond);
  add(prompt_);                               // token 64 to 99, without free positions
  add(join(prompt_, count_up(500, 10)), 40);  // 10 tokens after 40 free positions
  EXPECT_EQ(find(join(first_of(prompt_, 90), count_up(700, 5))).tokens(), 64)
      << "before the tokens after which positions are free";
  EXPECT_EQ(find(join(join(prompt_, count_up(500, 4)), count_up(700, 5))).tokens(), 104);
}

TEST_F(ApproximateChains, are_removed_with_what_they_go_on_from) {
  memory_.run(prompt_, kSecond);
  add(turn_);
  EXPECT_GT(memory_.index.drop_subtree(memory_.tenant, prompt_, 0, Removal::kDeleted), 0u);
  EXPECT_EQ(find(turn_).tokens(), 0);
  EXPECT_EQ(memory_.index.node_count(), 0u);
}

TEST_F(ApproximateChains, are_removed_wherever_they_begin) {
  add(turn_);  // from the root on
  const Tokens other = join(count_up(0, 128), count_up(800, 70));
  memory_.run(first_of(other, 128), kSecond);
  add(other);  // after two exact pages
  memory_.index.drop_subtree(approximate_, other, 128, Removal::kDeleted);
  EXPECT_EQ(find(other).tokens(), 128);
  EXPECT_EQ(find(turn_).tokens(), 180);
  memory_.index.drop_branch(approximate_, turn_, 0, Removal::kDead);
  EXPECT_EQ(own(find(turn_)), 0);
  EXPECT_EQ(memory_.available(other), 128) << "exact pages stay";
}

TEST_F(ApproximateChains, count_the_tokens_that_are_not_exact) {
  memory_.run(prompt_, kSecond);
  add(turn_);
  const auto next = memory_.sequence_of(approximate_);
  next->reuse(join(turn_, count_up(900, 30)), kSecond);
  EXPECT_EQ(next->committed(), 180);
  EXPECT_EQ(next->approximate_tokens(), 80) << "the first tokens of a page are exact";
  const auto exact = memory_.sequence();
  exact->reuse(prompt_, kSecond);
  EXPECT_EQ(exact->approximate_tokens(), 0);
}

TEST_F(ApproximateChains, that_begin_after_what_is_removed_are_removed_with_it) {
  const Tokens exact = count_up(0, 192);
  memory_.run(exact, kSecond);
  const Tokens chain = join(exact, count_up(500, 20));
  add(chain);
  memory_.index.drop_subtree(approximate_, chain, 64, Removal::kDeleted);
  EXPECT_EQ(find(chain).tokens(), 192) << "the exact pages are another owner's";
  memory_.index.drop_subtree(memory_.tenant, chain, 64, Removal::kDeleted);
  EXPECT_EQ(find(chain).tokens(), 64);
}

TEST_F(ApproximateChains, a_page_without_an_approximate_token_is_not_found) {
  memory_.run(prompt_, kSecond);
  add(turn_);
  memory_.index.drop_branch(memory_.tenant, prompt_, 64, Removal::kDead);
  EXPECT_EQ(find(first_of(prompt_, 80)).tokens(), 64);
  EXPECT_EQ(find(join(prompt_, count_up(500, 1))).tokens(), 101);
}

TEST_F(ApproximateChains, can_be_held) {
  memory_.run(prompt_, kSecond);
  add(turn_, 40);
  const auto hold = memory_.index.hold(approximate_, turn_);
  ASSERT_TRUE(hold);
  add(join(turn_, count_up(900, 30)));
  EXPECT_TRUE(memory_.index.is_held(*hold));
}

}  // namespace
}  // namespace cascade
