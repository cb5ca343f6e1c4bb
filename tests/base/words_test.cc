// Words are found and compared as the search index does it.
#include "base/words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cascade {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  for (auto word = next_word(text, 0); word; word = next_word(text, word->end)) {
    found.push_back(folded_word(text.substr(word->begin, word->end - word->begin)));
  }
  return found;
}

using Words = std::vector<std::string>;

TEST(Words, are_letters_and_digits_without_case_and_accents) {
  EXPECT_EQ(words("Ana's code: 12-AB, Crème BRÛLÉE!"),
            (Words{"ana", "s", "code", "12", "ab", "creme", "brulee"}));
  EXPECT_EQ(words("Straße 東京に"), (Words{"strasse", "東京に"}));
}

TEST(Words, any_bytes_are_text) {
  EXPECT_EQ(words(""), Words());
  EXPECT_EQ(words(" .\n"), Words());
  EXPECT_EQ(words("a\xFF\xFE z\xC3"), (Words{"a", "z"}));
  EXPECT_EQ(next_word("word", 4), std::nullopt);
}

}  // namespace
}  // namespace cascade
