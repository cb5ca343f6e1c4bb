// Tokens that are added and taken back.
#include "model/token_history.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade {
namespace {

TEST(TokenHistory, is_as_before_once_the_latest_tokens_are_taken_back) {
  const std::vector<int32_t> prompt = {1, 2, 2}, generated = {2, 3};
  TokenHistory history(prompt, generated);
  const auto before = history.tokens();
  EXPECT_EQ(before.at(1), 0);
  EXPECT_EQ(before.at(2), 1);
  const std::vector<int32_t> drafts = {4, 1, 4, 2, 3};
  std::vector<bool> was_new;
  for (const int32_t token : drafts) was_new.push_back(history.add_generated(token));
  EXPECT_EQ(was_new, (std::vector<bool>{true, false, false, false, false}));
  EXPECT_EQ(history.tokens().at(4), 2);
  EXPECT_EQ(history.tokens().at(1), 1);
  for (size_t i = drafts.size(); i > 0; --i) history.take_back(drafts[i - 1], was_new[i - 1]);
  EXPECT_EQ(history.tokens(), before);
}

}  // namespace
}  // namespace cascade
