// Stop strings, compared with their definition: across several tokens, in the middle of characters,
// at the very end, and beginnings that are not completed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "model/output_stream.h"
#include "tests/long_tests.h"
#include "tests/model/output_testing.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::demo_tokenizer;
using testing::Ids;
using testing::Stops;

Ids plain_ids_of(const std::string& text) {
  return *demo_tokenizer().encode(text, /*trusted=*/false, /*with_template=*/false);
}

struct Outcome {
  std::string answer;
  std::string streamed;  // all pieces, in order: nothing is ever taken back
  bool stopped = false;
  size_t tokens = 0;  // the number of tokens taken until the stream stopped
};

Outcome stream_until_stopped(const Ids& ids, const Stops& stops) {
  OutputStream stream(demo_tokenizer(), false, stops);
  Outcome outcome;
  const auto take = [&](const std::vector<OutputStream::Piece>& pieces) {
    for (const OutputStream::Piece& piece : pieces) {
      EXPECT_TRUE(is_utf8(piece.text));
      EXPECT_FALSE(piece.reasoning);
      outcome.streamed += piece.text;
    }
  };
  for (const int32_t id : ids) {
    take(stream.push(id));
    ++outcome.tokens;
    if (stream.stopped()) break;
  }
  take(stream.finish());
  outcome.answer = stream.answer();
  outcome.stopped = stream.stopped();
  return outcome;
}

// The definition: generation ends with the first token whose text completes a stop string. The
// answer ends where the first of the stop strings in the text at that moment begins.
Outcome expected_outcome(const Ids& ids, const Stops& stops) {
  std::string text;
  for (size_t count = 1; count <= ids.size(); ++count) {
    text = demo_tokenizer().decode(std::span(ids).first(count), true);
    size_t cut = std::string::npos;
    for (const std::string& stop : stops) cut = std::min(cut, text.find(stop));
    if (cut == std::string::npos) continue;
    return {text.substr(0, cut), text.substr(0, cut), true, count};
  }
  return {text, text, false, ids.size()};
}

void expect_as_defined(const Ids& ids, const Stops& stops) {
  const Outcome got = stream_until_stopped(ids, stops);
  const Outcome expected = expected_outcome(ids, stops);
  ASSERT_EQ(got.answer, expected.answer);
  ASSERT_EQ(got.streamed, expected.answer);
  ASSERT_EQ(got.stopped, expected.stopped);
  ASSERT_EQ(got.tokens, expected.tokens);
}

TEST(StopStrings, over_three_and_more_tokens) {
  const Ids ids = plain_ids_of("The river runs through seven old towns");
  ASSERT_GE(ids.size(), 7u);
  for (size_t first = 0; first + 2 < ids.size(); ++first) {
    for (const size_t over : {size_t{3}, ids.size() - first}) {
      // The stop string begins inside the first token and ends inside the last, if these are long
      // enough.
      const auto size_of = [&](size_t i) {
        return demo_tokenizer().decode(std::span(ids).subspan(i, 1), true).size();
      };
      std::string stop = demo_tokenizer().decode(std::span(ids).subspan(first, over), true);
      if (size_of(first) > 1) stop.erase(0, 1);
      if (size_of(first + over - 1) > 1) stop.pop_back();
      expect_as_defined(ids, {stop});
      const Outcome outcome = stream_until_stopped(ids, {stop});
      EXPECT_TRUE(outcome.stopped) << stop;
      EXPECT_EQ(outcome.tokens, first + over) << stop;
    }
  }
}

TEST(StopStrings, in_the_middle_of_characters_that_are_several_tokens) {
  const std::string smile = "\xF0\x9F\x98\x80", grin = "\xF0\x9F\x98\x81";
  if (plain_ids_of(smile).size() < 2)
    GTEST_SKIP() << "SKIPPED: the tokenizer has this character whole";
  // Smile and grin differ in the last byte: each smile begins like the stop string but does not
  // complete it.
  for (const std::string& text : {smile + smile + grin + "!", smile + "a" + smile, grin, smile}) {
    expect_as_defined(plain_ids_of(text), {grin});
    expect_as_defined(plain_ids_of(text), {smile + grin, grin + "!"});
  }
  const Outcome outcome = stream_until_stopped(plain_ids_of(smile + smile + grin + "!"), {grin});
  EXPECT_EQ(outcome.answer, smile + smile);
  EXPECT_TRUE(outcome.stopped);
}

TEST(StopStrings, beginnings_that_come_to_nothing_are_text) {
  const std::string text = "caf\xC3\xA9 \xE4\xB8\xAD\xE6\x96\x87, \xE4\xB8\xAD";
  for (const std::string& stop : Stops{"\xE4\xB8\xAD\xE6\x96\x87!", "\xC3\xA9  ", "\xE4\xB8\xADx",
                                       text + ".", "\xE4\xB8\xAD\xE4\xB8\xAD"}) {
    const Outcome outcome = stream_until_stopped(plain_ids_of(text), {stop});
    EXPECT_FALSE(outcome.stopped) << stop;
    EXPECT_EQ(outcome.answer, text) << stop;
    EXPECT_EQ(outcome.streamed, text) << stop;
  }
}

TEST(StopStrings, at_the_very_end_and_of_the_whole_text) {
  const std::string text = "One two three.";
  for (const std::string& stop : {std::string("."), std::string("three."), text}) {
    const Outcome outcome = stream_until_stopped(plain_ids_of(text), {stop});
    EXPECT_TRUE(outcome.stopped);
    EXPECT_EQ(outcome.answer, text.substr(0, text.size() - stop.size()));
    EXPECT_EQ(outcome.streamed, outcome.answer);
    EXPECT_EQ(outcome.tokens, plain_ids_of(text).size());
  }
}

TEST(StopStrings, random_ones_of_characters_of_all_sizes) {
  const std::array<std::string, 7> letters = {"a",  "\xC3\xA9",         "\xE4\xB8\xAD",    " ",
                                              "\n", "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x81"};
  Random random(testing::test_seed());
  const auto some = [&](uint64_t least, uint64_t most) {
    std::string text;
    for (uint64_t n = least + random.below(most - least + 1); n > 0; --n) {
      text += letters[random.below(letters.size())];
    }
    return text;
  };
  int stopped = 0;
  const int rounds = testing::long_or(2000, 400);
  for (int round = 0; round < rounds; ++round) {
    const Ids ids = plain_ids_of(some(1, 40));
    Stops stops;
    for (uint64_t i = 1 + random.below(3); i > 0; --i) stops.push_back(some(1, 4));
    ASSERT_NO_FATAL_FAILURE(expect_as_defined(ids, stops));
    stopped += stream_until_stopped(ids, stops).stopped;
  }
  EXPECT_GT(stopped, rounds * 3 / 20);
  EXPECT_LT(stopped, rounds * 19 / 20);
}

}  // namespace
}  // namespace cascade
