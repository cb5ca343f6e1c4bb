// Tests of the columns of tables.
#include "bench/eval/text_table.h"

#include <gtest/gtest.h>

namespace cascade::eval {
namespace {

TEST(TextTable, columns_are_as_wide_as_their_longest_cell) {
  EXPECT_EQ(text_table({{"a"}}), "a\n");
  EXPECT_EQ(text_table({{"kind", "1", "20"}, {"b", "300", ""}}),
            "kind    1  20\n"
            "b     300    \n");
  EXPECT_EQ(text_table({{"a", "policy", "1"}, {"bcd", "x", "10"}}, 2),
            "a    policy   1\n"
            "bcd  x       10\n");
}

}  // namespace
}  // namespace cascade::eval
