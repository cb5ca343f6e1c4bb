// How errors of the daemon are worded for a person who types a command line.
#include "clients/ctl/option_words.h"

#include <gtest/gtest.h>

namespace cascade::ctl {
namespace {

std::string said(const std::string& field, const std::string& message) {
  const Error error = in_words_of_options(invalid_argument(field, message));
  return error.field + ": " + error.message;
}

TEST(OptionWords, stand_for_the_fields_that_options_set) {
  EXPECT_EQ(said("max_tokens", "is 0"), "--max-tokens: is 0");
  EXPECT_EQ(said("sampling.top_k", "x"), "--top-k: x");
  EXPECT_EQ(said("sampling.logit_bias[3]", "x"), "--logit-bias: x");
  EXPECT_EQ(said("stop[1]", "x"), "--stop: x");
  EXPECT_EQ(said("attention", "must be dense"), "--attention: must be dense");
  EXPECT_EQ(said("reasoning_effort", "x"), "--reasoning-effort: x");
  EXPECT_EQ(said("model", "x"), "--model-name: x");
  EXPECT_EQ(said("chunks[0].id", "there is no chunk"), "prompt: there is no chunk");
}

TEST(OptionWords, stand_for_what_messages_say_of_fields) {
  EXPECT_EQ(said("session", R"(a turn is gone; "on_missing": "skip" goes on without it)"),
            "--session: a turn is gone; --on-missing skip goes on without it");
  EXPECT_EQ(said("chunks",
                 "However, your chunks have 17011 tokens. Please reduce the length of the chunks."),
            "prompt: However, your prompt has 17011 tokens. Please reduce the length of the "
            "prompt.");
  EXPECT_EQ(said("messages", "your messages have 9 tokens"), "prompt: your prompt has 9 tokens");
}

TEST(OptionWords, leave_other_errors_as_they_are) {
  EXPECT_EQ(said("", "is empty"), ": is empty");
  EXPECT_EQ(said("PROMPT", "is empty"), "PROMPT: is empty");
  EXPECT_EQ(said("line 3, max_tokens", "x"), "line 3, max_tokens: x");
}

}  // namespace
}  // namespace cascade::ctl
