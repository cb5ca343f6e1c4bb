// Tests of the suggestions for a word that is not known.
#include "base/suggestion.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade {
namespace {

const std::vector<std::string> kFlags = {"--max-tokens",  "--temperature", "--top-p",
                                         "--top-k",       "--kv-memory",   "--kv",
                                         "--max-running", "--max-waiting", "--system"};

std::string meant(std::string_view word) {
  return closest_word(word, kFlags).value_or("");
}

TEST(Suggestion, offers_the_word_that_takes_the_fewest_changes) {
  EXPECT_EQ(meant("--max-token"), "--max-tokens");
  EXPECT_EQ(meant("--max-tokns"), "--max-tokens");
  EXPECT_EQ(meant("--max-tokesn"), "--max-tokens");
  EXPECT_EQ(meant("--maxtokens"), "--max-tokens");
  EXPECT_EQ(meant("--max_tokens"), "--max-tokens");
  EXPECT_EQ(meant("--Max-Tokens"), "--max-tokens");
  EXPECT_EQ(meant("-max-tokens"), "--max-tokens");
  EXPECT_EQ(meant("--max-runing"), "--max-running");
  EXPECT_EQ(meant("--topp"), "--top-p");
}

TEST(Suggestion, offers_the_word_that_begins_like_it) {
  EXPECT_EQ(meant("--temp"), "--temperature");
  EXPECT_EQ(meant("--sys"), "--system");
}

TEST(Suggestion, offers_nothing_for_what_is_like_no_word) {
  for (const char* word : {"", "-", "--", "--x", "-q", "--bogus", "--colour", "What is this?"}) {
    EXPECT_EQ(meant(word), "") << word;
  }
  EXPECT_EQ(closest_word("--max-tokens", {}), std::nullopt);
  EXPECT_EQ(meant(std::string(100'000, 'x')), "");
}

TEST(Suggestion, is_the_end_of_a_sentence) {
  EXPECT_EQ(did_you_mean("--max-token", kFlags), "; did you mean --max-tokens?");
  EXPECT_EQ(did_you_mean("--bogus", kFlags), "");
}

}  // namespace
}  // namespace cascade
