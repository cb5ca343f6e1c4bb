// Texts are found in prompts by their tokens, although the first and the last one may have merged.
#include "actors/scheduler/find_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade {
namespace {

using Tokens = std::vector<int32_t>;

const Tokens kNumbers = {1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 4, 5, 6};

void expect_place(const Tokens& text, int64_t begin, int64_t end) {
  const auto found = find_text(kNumbers, text);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->begin, begin);
  EXPECT_EQ(found->end, end);
}

TEST(FindText, has_the_first_place) {
  expect_place({3, 4, 5, 6}, 2, 6);
  expect_place({7, 8, 9, 3, 4}, 6, 11);
}

TEST(FindText, does_not_look_at_the_first_and_the_last_token_of_a_text) {
  expect_place({70, 4, 5, 60}, 2, 6);
}

TEST(FindText, stays_within_the_prompt) {
  expect_place({70, 1, 2, 3}, 0, 3);
  expect_place({80, 9, 3, 4, 5, 6, 60}, 7, 13);
}

TEST(FindText, looks_at_all_tokens_of_a_short_text) {
  expect_place({8, 9}, 7, 9);
  EXPECT_FALSE(find_text(kNumbers, Tokens{70, 4, 5}).has_value());
}

TEST(FindText, has_no_place_of_what_is_not_there) {
  EXPECT_FALSE(find_text(kNumbers, Tokens{3, 5, 4, 6}).has_value());
  EXPECT_FALSE(find_text(kNumbers, {}).has_value());
  EXPECT_FALSE(find_text({}, kNumbers).has_value());
}

TEST(PlaceOfText, is_all_of_the_prompt_where_the_text_is_not_found) {
  const TokenSpan place = place_of_text(kNumbers, Tokens{3, 5, 4, 6});
  EXPECT_EQ(place.begin, 0);
  EXPECT_EQ(place.end, std::ssize(kNumbers));
}

}  // namespace
}  // namespace cascade
