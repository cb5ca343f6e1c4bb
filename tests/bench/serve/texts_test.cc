// Prompts of a given length in tokens of the demo model.
#include "bench/serve/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model.h"
#include "tests/shared_dir.h"

namespace cascade::serve {
namespace {

using ::testing::EndsWith;

const ModelText& demo() {
  static const ModelText text = load_model_text(testing::demo_model_dir()).value();
  return text;
}

TEST(ServeTexts, have_as_many_tokens_as_were_asked_for_or_a_few_less) {
  const Texts texts(demo().tokenizer, 1);
  for (const int64_t tokens : {8, 64, 300, 5000}) {
    const int64_t count = texts.count(texts.words(7, tokens).value()).value();
    EXPECT_LE(count, tokens);
    EXPECT_GT(count, tokens - 8);
  }
}

TEST(ServeTexts, are_never_empty) {
  const Texts texts(demo().tokenizer, 1);
  EXPECT_EQ(texts.words(12345, 1).value(), "12345.");
}

TEST(ServeTexts, differ_by_number_and_seed_and_not_otherwise) {
  const Texts texts(demo().tokenizer, 1), same(demo().tokenizer, 1), other(demo().tokenizer, 2);
  const std::string text = texts.words(3, 50).value();
  EXPECT_EQ(text, same.words(3, 50).value());
  EXPECT_NE(text, other.words(3, 50).value());
  // The texts differ from the first word on.
  EXPECT_NE(text.substr(0, 2), texts.words(4, 50).value().substr(0, 2));
}

TEST(ServeTexts, questions_stand_behind_their_notes) {
  const Texts texts(demo().tokenizer, 1);
  const std::string question = texts.question(5, 1).value();
  EXPECT_EQ(question, "What was my first question?");
  const std::string longer = texts.question(5, 100).value();
  EXPECT_THAT(longer, EndsWith("\n\n" + question));
  const int64_t count = texts.count(longer).value();
  EXPECT_LE(count, 102);
  EXPECT_GT(count, 80);
}

TEST(ServeTexts, system_prompts_have_notes_if_there_is_room) {
  const Texts texts(demo().tokenizer, 1);
  EXPECT_EQ(texts.system_prompt(0).value(), "");
  EXPECT_EQ(texts.system_prompt(1).value(), "You are a helpful assistant.");
  const std::string longer = texts.system_prompt(500).value();
  EXPECT_TRUE(longer.starts_with("You are a helpful assistant.\n\nNotes:\nThe code of"));
  const int64_t count = texts.count(longer).value();
  EXPECT_LE(count, 502);
  EXPECT_GT(count, 480);
}

}  // namespace
}  // namespace cascade::serve
