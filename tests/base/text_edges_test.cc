// The ends of texts.
#include "base/text_edges.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(TextEdges, blanks_at_the_ends_are_left_out) {
  EXPECT_EQ(trimmed(" \t\n a b\r\n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(TextEdges, lines_are_taken_with_their_ends) {
  std::string_view text = "a\n\nb";
  for (const char* line : {"a\n", "\n", "b", ""}) EXPECT_EQ(take_line(text), line);
  EXPECT_TRUE(text.empty());
}

TEST(TextEdges, a_mark_may_have_begun_at_the_end) {
  EXPECT_EQ(begun_mark("text <ma", "<mark>"), 3u);
  EXPECT_EQ(begun_mark("text <mark>", "<mark>"), 0u);
  EXPECT_EQ(begun_mark("<", "<mark>"), 1u);
  EXPECT_EQ(begun_mark("<<", "<<mark"), 2u);
  EXPECT_EQ(begun_mark("text", "<mark>"), 0u);
  EXPECT_EQ(begun_mark("", "<mark>"), 0u);
  EXPECT_EQ(begun_mark("<", "<"), 0u);
}

}  // namespace
}  // namespace cascade
