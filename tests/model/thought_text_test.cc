// The text of thoughts, in blocks and pieces.
#include "model/thought_text.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(ThoughtText, line_ends_at_the_edges_are_left_out) {
  ThoughtText thoughts("");
  thoughts.begin_block(/*has_header=*/false);
  EXPECT_EQ(thoughts.push("\n\n"), "");
  EXPECT_EQ(thoughts.push("\na\n"), "a");
  EXPECT_EQ(thoughts.push("\n"), "");
  EXPECT_EQ(thoughts.push("b\n"), "\n\nb");
  thoughts.begin_block(false);
  EXPECT_EQ(thoughts.push("\nc"), "\nc");
  EXPECT_EQ(thoughts.text(), "a\n\nb\nc");
}

TEST(ThoughtText, the_header_of_a_block_is_left_out) {
  ThoughtText thoughts("thought\n");
  thoughts.begin_block(false);
  EXPECT_EQ(thoughts.push("\ntho"), "");
  EXPECT_EQ(thoughts.push("ught"), "");
  EXPECT_EQ(thoughts.push("\n\nI see"), "I see");
  thoughts.begin_block(false);
  EXPECT_EQ(thoughts.push("thoughts of mine"), "\nthoughts of mine");
  thoughts.begin_block(/*has_header=*/true);
  EXPECT_EQ(thoughts.push("thought\nx"), "\nthought\nx");
  thoughts.begin_block(false);
  EXPECT_EQ(thoughts.push("thou"), "");  // the block ends here
  thoughts.begin_block(false);
  EXPECT_EQ(thoughts.push("y"), "\ny");
}

TEST(ThoughtText, the_text_of_a_stored_block_is_the_same) {
  EXPECT_EQ(thoughts_of_block("\nHm.\n\n", "<think>\nHm.\n\n</think>"), "Hm.");
  EXPECT_EQ(thoughts_of_block("<think>Hm.", "<think>Hm."), "Hm.");
  EXPECT_EQ(thoughts_of_block("thought\nHm.\n", "<|channel>thought\nHm.\n<channel|>"), "Hm.");
  EXPECT_EQ(thoughts_of_block("<|channel>thought\nHm.", "<|channel>thought\nHm."), "Hm.");
  EXPECT_EQ(thoughts_of_block("thought\nHm.", "<think>thought\nHm."), "thought\nHm.");
  EXPECT_EQ(thoughts_of_block("\n", ""), "");
  EXPECT_EQ(thoughts_of_block("thought", "<|channel>thought<channel|>"), "");
}

}  // namespace
}  // namespace cascade
