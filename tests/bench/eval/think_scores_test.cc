// Tests of the table that says what the think policies keep.
#include "bench/eval/think_scores.h"

#include <gtest/gtest.h>

namespace cascade::eval {
namespace {

Divergence divergence(double kl, bool same_top) {
  Divergence divergence;
  divergence.kl = kl;
  divergence.same_top = same_top;
  divergence.finite = true;
  return divergence;
}

TEST(ThinkScores, a_table_has_a_line_for_each_kind_and_policy_and_for_all) {
  ThinkScores scores;
  EXPECT_EQ(scores.table(), "");
  const auto exact = ThinkPolicy::kReprefill, splice = ThinkPolicy::kSplice;
  scores.add("b", exact, {true, true, {divergence(0, true)}, 0.002, 4096});
  scores.add("b", splice, {true, false, {divergence(0.5, false)}, 0.001, 2048});
  scores.add("b", splice, {false, true, {divergence(0.25, true)}, 0.003, 4096});
  scores.add("b", splice, {false, false, {divergence(0, true), divergence(0, true)}, 0.5, 6144});
  scores.add("a", exact, {false, true, {divergence(0, true)}, 0.25, 0});
  EXPECT_EQ(
      scores.table(),
      "kind  policy     as expected  as exact  same top token  KL mean  KL 99 %  ready ms  KV KiB\n"
      "b     reprefill          1/1       1/1        100.00 %        0        0      2.00       4\n"
      "b     splice             1/3       1/3         75.00 %     0.19      0.5      3.00       4\n"
      "a     reprefill          0/1       1/1        100.00 %        0        0    250.00       0\n"
      "all   reprefill          1/2       2/2        100.00 %        0        0    126.00       2\n"
      "all   splice             1/3       1/3         75.00 %     0.19      0.5      3.00       "
      "4\n");
}

}  // namespace
}  // namespace cascade::eval
