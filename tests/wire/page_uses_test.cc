// Lists of page uses, which are kept field by field.
#include <gtest/gtest.h>

#include "wire/frames.h"

namespace cascade::wire {
namespace {

PageUse use_of(int number) {
  return {std::string(64, 'a'), 64 * number, std::string(32, 't'),
          "output_0123456789abcdef0123456789abcdef" + std::to_string(number), number % 2 == 1};
}

TEST(PageUses, are_what_was_added) {
  PageUses uses;
  for (int i = 0; i < 3; ++i) uses.add(use_of(i));
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses.at(2).position, 128);
  EXPECT_EQ(uses.at(2).chunk_id, use_of(2).chunk_id);
  EXPECT_TRUE(uses.at(1).ends);
  EXPECT_FALSE(uses.at(2).ends);
}

TEST(PageUses, end_with_the_shortest_field) {
  PageUses uses;
  for (int i = 0; i < 3; ++i) uses.add(use_of(i));
  uses.ends.pop_back();
  EXPECT_EQ(uses.size(), 2u);
}

// The largest number of uses that a scheduler notes.
TEST(PageUses, of_all_that_is_noted_fit_one_message) {
  StorePages message;
  for (int i = 0; i < 262'144; ++i) message.uses.add(use_of(i));
  const auto frames = encode({{}, message});
  ASSERT_TRUE(frames.ok()) << frames.error().to_string();
  const auto received = decode(*frames);
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(std::get<StorePages>(received->message).uses.size(), 262'144u);
}

}  // namespace
}  // namespace cascade::wire
