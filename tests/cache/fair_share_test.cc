// Deficit counters: what one is charged is credited to the others.
#include "cache/fair_share.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(FairShare, one_tenant_alone_owes_nobody) {
  FairShare share;
  share.add("a");
  share.charge("a", 1e9);
  EXPECT_EQ(share.credit("a"), 0);
  EXPECT_EQ(share.credit("unknown"), 0);
}

TEST(FairShare, what_one_gets_the_others_are_owed_in_equal_parts) {
  FairShare share;
  for (const char* tenant : {"a", "b", "c"}) share.add(tenant);
  share.charge("a", 100);
  EXPECT_EQ(share.credit("a"), -100);
  EXPECT_EQ(share.credit("b"), 50);
  EXPECT_EQ(share.credit("c"), 50);
  share.add("a");  // adding again forgets nothing
  EXPECT_EQ(share.credit("a"), -100);
}

TEST(FairShare, credit_and_debt_have_a_limit) {
  FairShare share;
  share.add("a");
  share.add("b");
  for (int i = 0; i < 100; ++i) share.charge("a", 1000);
  EXPECT_EQ(share.credit("a"), -FairShare::kCreditTokensMax);
  EXPECT_EQ(share.credit("b"), FairShare::kCreditTokensMax);
}

// Whoever is owed most comes first. In the long run all that have work get the same, whatever the
// size of their pieces.
TEST(FairShare, pieces_of_any_size_end_in_equal_parts) {
  FairShare share;
  share.add("large");
  share.add("small");
  double large = 0, small = 0;
  for (int i = 0; i < 10'000; ++i) {
    const bool turn = share.credit("large") >= share.credit("small");
    (turn ? large : small) += turn ? 512 : 17;
    share.charge(turn ? "large" : "small", turn ? 512 : 17);
  }
  EXPECT_NEAR(large / small, 1, 0.01);
}

}  // namespace
}  // namespace cascade
