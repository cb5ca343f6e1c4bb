// Marked text, compared with a simple model of it: a sequence of bytes, each with its mark.
#include "model/jinja/text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade::jinja {
namespace {

using Model = std::vector<std::pair<char, bool>>;

void expect_same(const MarkedText& text, const Model& model) {
  ASSERT_EQ(text.size(), model.size());
  for (size_t i = 0; i < model.size(); ++i) {
    ASSERT_EQ(text.view()[i], model[i].first) << i;
    ASSERT_EQ(text.trusted_at(i), model[i].second) << i;
  }
  std::string joined;
  const SpannedText spans = text.spans();
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_FALSE(spans[i].text.empty());
    EXPECT_TRUE(i == 0 || spans[i].trusted != spans[i - 1].trusted);
    for (size_t j = 0; j < spans[i].text.size(); ++j) {
      ASSERT_EQ(spans[i].trusted, model[joined.size() + j].second);
    }
    joined += spans[i].text;
  }
  EXPECT_EQ(joined, text.view());
}

TEST(JinjaText, behaves_as_a_row_of_marked_bytes) {
  Random random(testing::test_seed());
  for (int round = 0; round < 200; ++round) {
    MarkedText text;
    Model model;
    for (int step = 0; step < 40; ++step) {
      const bool trusted = random.below(2) == 0;
      const std::string piece(random.below(4), static_cast<char>('a' + random.below(26)));
      const size_t begin = random.below(text.size() + 1);
      const size_t end = begin + random.below(text.size() - begin + 1);
      switch (random.below(4)) {
        case 0: {  // a part of itself, in front
          MarkedText part = text.slice(begin, end);
          Model model_part(model.begin() + static_cast<std::ptrdiff_t>(begin),
                           model.begin() + static_cast<std::ptrdiff_t>(end));
          part.append(text);
          model_part.insert(model_part.end(), model.begin(), model.end());
          text = part.slice(0, std::min<size_t>(part.size(), 100));
          model_part.resize(text.size());
          model = model_part;
          break;
        }
        case 1: {
          const MarkedText copy = text;
          text.append(copy, begin, end);
          const Model model_copy = model;
          model.insert(model.end(), model_copy.begin() + static_cast<std::ptrdiff_t>(begin),
                       model_copy.begin() + static_cast<std::ptrdiff_t>(end));
          break;
        }
        default:
          text.append(piece, trusted);
          for (const char c : piece) model.emplace_back(c, trusted);
          break;
      }
      expect_same(text, model);
    }
  }
}

TEST(JinjaText, an_empty_text_has_no_mark) {
  MarkedText text("", true);
  text.append("a", false);
  expect_same(text, {{'a', false}});
  expect_same(MarkedText("ab", true).slice(1, 1), {});
  EXPECT_TRUE(MarkedText("", true).spans().empty());
}

}  // namespace
}  // namespace cascade::jinja
