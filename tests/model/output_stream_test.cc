// Sampled tokens as answer and thoughts: blocks of all kinds, stop strings, and whether the
// streamed text equals the final text.
#include "model/output_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tests/long_tests.h"
#include "tests/model/output_testing.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::demo_tokenizer;
using testing::Ids;
using testing::Stops;

// The ids of a text in which think tokens are recognised.
Ids ids_of(const std::string& text) {
  return *demo_tokenizer().encode(text, /*trusted=*/true, /*with_template=*/false);
}

// One id for each byte of `text` (byte-level BPE has them all), so that nothing is merged.
Ids byte_ids(const std::string& text) {
  Ids ids;
  for (const char byte : text) {
    const auto one = *demo_tokenizer().encode(std::string(1, byte), false, false);
    EXPECT_EQ(one.size(), 1u) << "only for ASCII";
    ids.insert(ids.end(), one.begin(), one.end());
  }
  return ids;
}

struct Streamed {
  std::string answer;
  std::string reasoning;
  size_t pieces = 0;
};

void take(std::vector<OutputStream::Piece> pieces, Streamed& into) {
  for (const OutputStream::Piece& piece : pieces) {
    EXPECT_FALSE(piece.text.empty());
    EXPECT_TRUE(is_utf8(piece.text));
    (piece.reasoning ? into.reasoning : into.answer) += piece.text;
    ++into.pieces;
  }
}

// Pushes all ids and finishes; checks that the stream and the result agree.
Streamed stream_all(OutputStream& stream, const Ids& ids) {
  Streamed streamed;
  for (const int32_t id : ids) take(stream.push(id), streamed);
  take(stream.finish(), streamed);
  EXPECT_EQ(streamed.answer, stream.answer());
  EXPECT_EQ(streamed.reasoning, stream.reasoning());
  return streamed;
}

using Spans = std::vector<ThinkSpan>;

TEST(OutputStream, an_answer_that_goes_on_with_a_text_keeps_the_space_between_them) {
  const Tokenizer& tokenizer = testing::mistral_tokenizer();
  const Ids ids = *tokenizer.encode("x (y", false, false);
  OutputStream begins(tokenizer, false, {});
  EXPECT_EQ(stream_all(begins, ids).answer, "x (y");
  EXPECT_EQ(begins.raw_text(), "x (y");
  OutputStream goes_on(tokenizer, false, {}, /*goes_on=*/true);
  EXPECT_EQ(stream_all(goes_on, ids).answer, " x (y");
  EXPECT_EQ(goes_on.raw_text(), " x (y");
}

TEST(OutputStream, plain_text_is_the_answer) {
  OutputStream stream(demo_tokenizer(), false, {});
  const Ids ids = ids_of("Paris is the capital of France.\n\nIt is large.\n");
  stream_all(stream, ids);
  EXPECT_EQ(stream.answer(), "Paris is the capital of France.\n\nIt is large.\n");
  EXPECT_EQ(stream.reasoning(), "");
  EXPECT_TRUE(stream.think_spans().empty());
  EXPECT_EQ(stream.reasoning_tokens(), 0);
  EXPECT_EQ(stream.raw_text(), stream.answer());
}

TEST(OutputStream, nothing_sampled_is_nothing) {
  OutputStream stream(demo_tokenizer(), false, {"stop"});
  EXPECT_EQ(stream_all(stream, {}).pieces, 0u);
  EXPECT_EQ(stream.raw_text(), "");
}

TEST(OutputStream, a_closed_block_is_reasoning_and_its_newlines_are_the_templates) {
  OutputStream stream(demo_tokenizer(), false, {});
  const Ids ids = ids_of("<think>\nLet me see.\n\nYes.\n</think>\n\nThe answer.\n");
  stream_all(stream, ids);
  EXPECT_EQ(stream.reasoning(), "Let me see.\n\nYes.");
  EXPECT_EQ(stream.answer(), "The answer.\n");
  const auto close = std::ranges::find(ids, demo_tokenizer().think_tokens()->close) - ids.begin();
  EXPECT_EQ(stream.think_spans(), (Spans{{0, static_cast<int32_t>(close) + 1, true}}));
  EXPECT_EQ(stream.reasoning_tokens(), close + 1);
  EXPECT_EQ(stream.raw_text(), "<think>\nLet me see.\n\nYes.\n</think>\n\nThe answer.\n");
}

TEST(OutputStream, an_unclosed_block_is_reasoning_to_the_end) {
  OutputStream stream(demo_tokenizer(), false, {});
  const Ids ids = ids_of("<think>\nI wonder\n");
  stream_all(stream, ids);
  EXPECT_EQ(stream.reasoning(), "I wonder");
  EXPECT_EQ(stream.answer(), "");
  EXPECT_EQ(stream.think_spans(), (Spans{{0, static_cast<int32_t>(ids.size()), false}}));
}

TEST(OutputStream, an_empty_block_leaves_the_answer_alone) {
  for (const char* text : {"<think></think>Hi", "<think>\n\n</think>\n\nHi"}) {
    OutputStream stream(demo_tokenizer(), false, {});
    stream_all(stream, ids_of(text));
    EXPECT_EQ(stream.reasoning(), "");
    EXPECT_EQ(stream.answer(), "Hi");
    ASSERT_EQ(stream.think_spans().size(), 1u);
    EXPECT_TRUE(stream.think_spans()[0].closed);
  }
}

TEST(OutputStream, repeated_blocks_are_joined_by_a_line_end) {
  OutputStream stream(demo_tokenizer(), false, {});
  const Ids ids = ids_of("One<think>\na\n</think>\ntwo <think></think>\n<think>\n\nb</think>three");
  stream_all(stream, ids);
  EXPECT_EQ(stream.reasoning(), "a\nb");
  EXPECT_EQ(stream.answer(), "Onetwo three");
  ASSERT_EQ(stream.think_spans().size(), 3u);
  for (const ThinkSpan& span : stream.think_spans()) {
    EXPECT_EQ(ids[span.begin], demo_tokenizer().think_tokens()->open);
    EXPECT_EQ(ids[span.end - 1], demo_tokenizer().think_tokens()->close);
    EXPECT_TRUE(span.closed);
  }
}

TEST(OutputStream, a_prompt_that_ended_inside_a_block_begins_with_thoughts) {
  OutputStream stream(demo_tokenizer(), true, {});
  const Ids ids = ids_of("Hm.\n</think>\n\nYes");
  stream_all(stream, ids);
  EXPECT_EQ(stream.reasoning(), "Hm.");
  EXPECT_EQ(stream.answer(), "Yes");
  const auto close = std::ranges::find(ids, demo_tokenizer().think_tokens()->close) - ids.begin();
  EXPECT_EQ(stream.think_spans(), (Spans{{0, static_cast<int32_t>(close) + 1, true}}));
}

TEST(OutputStream, a_prompt_that_ended_inside_a_block_may_never_leave_it) {
  OutputStream stream(demo_tokenizer(), true, {"Hm"});
  const Ids ids = ids_of("Hm, Hm");
  stream_all(stream, ids);
  EXPECT_FALSE(stream.stopped());
  EXPECT_EQ(stream.reasoning(), "Hm, Hm");
  EXPECT_EQ(stream.think_spans(), (Spans{{0, static_cast<int32_t>(ids.size()), false}}));
}

TEST(OutputStream, a_stray_closing_token_is_no_text) {
  OutputStream stream(demo_tokenizer(), false, {});
  const Ids ids = ids_of("One</think>\n two");
  stream_all(stream, ids);
  EXPECT_EQ(stream.answer(), "One two");
  EXPECT_EQ(stream.reasoning(), "");
  const auto close = static_cast<int32_t>(
      std::ranges::find(ids, demo_tokenizer().think_tokens()->close) - ids.begin());
  EXPECT_EQ(stream.think_spans(), (Spans{{close, close + 1, true}}));
}

TEST(OutputStream, an_opening_token_inside_a_block_is_part_of_it) {
  const ThinkTokens think = *demo_tokenizer().think_tokens();
  OutputStream stream(demo_tokenizer(), false, {});
  stream_all(stream, {think.open, think.open});
  EXPECT_EQ(stream.think_spans(), (Spans{{0, 2, false}}));
  OutputStream inside(demo_tokenizer(), true, {});
  stream_all(inside, {think.open});
  EXPECT_EQ(inside.think_spans(), (Spans{{0, 1, false}}));
  OutputStream closed(demo_tokenizer(), false, {});
  stream_all(closed, ids_of("<think>a<think>b</think>c"));
  EXPECT_EQ(closed.reasoning(), "ab");
  EXPECT_EQ(closed.answer(), "c");
  EXPECT_EQ(closed.think_spans().size(), 1u);
}

TEST(OutputStream, special_tokens_are_not_text) {
  OutputStream stream(demo_tokenizer(), false, {});
  stream_all(stream, ids_of("a<|im_start|>b<|endoftext|>c"));
  EXPECT_EQ(stream.answer(), "abc");
  EXPECT_EQ(stream.raw_text(), "a<|im_start|>b<|endoftext|>c");
}

TEST(OutputStream, ends_before_a_stop_string_wherever_tokens_meet) {
  const std::string text = "one two STOP three";
  for (const Ids& ids : {byte_ids(text), ids_of(text)}) {
    OutputStream stream(demo_tokenizer(), false, {"STOP"});
    Streamed streamed;
    for (const int32_t id : ids) {
      take(stream.push(id), streamed);
    }
    EXPECT_TRUE(stream.stopped());
    EXPECT_TRUE(stream.push(ids[0]).empty());
    EXPECT_EQ(streamed.answer, "one two ");
    EXPECT_EQ(stream.answer(), "one two ");
    EXPECT_TRUE(stream.finish().empty());
    EXPECT_EQ(stream.answer(), "one two ");
  }
}

TEST(OutputStream, holds_back_no_more_than_could_become_a_stop_string) {
  OutputStream stream(demo_tokenizer(), false, {"abcX"});
  Streamed streamed;
  for (const int32_t id : byte_ids("zabc")) take(stream.push(id), streamed);
  EXPECT_EQ(streamed.answer, "z");
  take(stream.push(byte_ids("a")[0]), streamed);
  EXPECT_EQ(streamed.answer, "zabc") << "only the last letter may begin it now";
  take(stream.finish(), streamed);
  EXPECT_EQ(streamed.answer, "zabca");
  EXPECT_FALSE(stream.stopped());
}

TEST(OutputStream, a_false_start_of_a_stop_string_hides_no_later_one) {
  const std::vector<std::pair<std::string, Stops>> cases = {
      {"ababac-", {"abac"}}, {"aaab-", {"aab"}}, {"xyxyz-", {"xyz", "yxz"}}, {"\n\n\n#-", {"\n#"}}};
  for (const auto& [text, stops] : cases) {
    OutputStream stream(demo_tokenizer(), false, stops);
    stream_all(stream, byte_ids(text));
    EXPECT_TRUE(stream.stopped()) << text;
    EXPECT_EQ(stream.answer(), text.substr(0, text.find(stops[0]))) << text;
  }
}

TEST(OutputStream, of_several_stop_strings_the_first_that_is_complete_counts) {
  OutputStream stream(demo_tokenizer(), false, {"longer stop", "ong", "g"});
  stream_all(stream, byte_ids("a longer stop"));
  EXPECT_EQ(stream.answer(), "a l");
  // One token may complete several stop strings: the answer ends before all of them.
  OutputStream at_once(demo_tokenizer(), false, {"answer", "ans"});
  stream_all(at_once, ids_of("The answer is"));
  EXPECT_EQ(at_once.answer(), "The ");
}

TEST(OutputStream, a_stop_string_at_the_very_start_leaves_nothing) {
  OutputStream stream(demo_tokenizer(), false, {"Hello"});
  EXPECT_EQ(stream_all(stream, ids_of("Hello there")).pieces, 0u);
  EXPECT_TRUE(stream.stopped());
}

TEST(OutputStream, stop_strings_of_many_bytes_a_character_are_found) {
  const std::string text = "caf\xC3\xA9 \xF0\x9F\x98\x80\xF0\x9F\x98\x81 \xE4\xB8\xAD\xE6\x96\x87!";
  for (const std::string& stop : Stops{"\xC3\xA9", "\xF0\x9F\x98\x81", "\xE6\x96\x87"}) {
    OutputStream stream(demo_tokenizer(), false, {stop});
    Streamed streamed;
    for (const int32_t id : ids_of(text)) take(stream.push(id), streamed);
    take(stream.finish(), streamed);
    EXPECT_TRUE(stream.stopped()) << stop;
    EXPECT_EQ(stream.answer(), text.substr(0, text.find(stop)));
    EXPECT_EQ(streamed.answer, stream.answer());
  }
}

TEST(OutputStream, stop_strings_in_thoughts_are_ignored) {
  OutputStream stream(demo_tokenizer(), false, {"STOP"});
  stream_all(stream, ids_of("<think>STOP</think>go STOP on"));
  EXPECT_EQ(stream.reasoning(), "STOP");
  EXPECT_EQ(stream.answer(), "go ");
}

TEST(OutputStream, an_unfinished_character_becomes_a_replacement_character_in_the_end) {
  const Ids smile = ids_of("\xF0\x9F\x98\x80");
  if (smile.size() < 2) GTEST_SKIP() << "SKIPPED: the tokenizer has this character whole";
  OutputStream stream(demo_tokenizer(), false, {});
  Streamed streamed;
  take(stream.push(smile[0]), streamed);
  EXPECT_EQ(streamed.answer, "");
  take(stream.finish(), streamed);
  EXPECT_EQ(streamed.answer, "\xEF\xBF\xBD");
  EXPECT_EQ(stream.answer(), streamed.answer);
}

std::string without_leading_newlines(const std::string& text) {
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

// The expected result by its definition, computed from all tokens at once.
struct Expected {
  std::string answer;
  std::string reasoning;
  Spans spans;
};

Expected expected_of(const Ids& ids, bool inside) {
  const ThinkTokens think = *demo_tokenizer().think_tokens();
  Expected expected;
  if (inside) expected.spans.push_back({0, 0, false});
  Ids block;
  bool thinking = inside, first = !inside;
  const auto end_block = [&] {
    std::string text = demo_tokenizer().decode(block, true);
    if (!first) text = without_leading_newlines(text);
    if (thinking) {
      text.resize(text.find_last_not_of('\n') + 1);
      if (!text.empty() && !expected.reasoning.empty()) expected.reasoning += '\n';
      expected.reasoning += text;
    } else {
      expected.answer += text;
    }
    block.clear();
    first = false;
  };
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto at = static_cast<int32_t>(i);
    const bool opens = ids[i] == think.open, closes = ids[i] == think.close;
    if ((opens && !thinking) || closes) end_block();
    if ((opens || closes) && !thinking) expected.spans.push_back({at, at, false});
    if (opens) thinking = true;
    if (thinking || closes) expected.spans.back().end = at + 1;
    if (closes) expected.spans.back().closed = true;
    if (closes) thinking = false;
    if (!opens && !closes) block.push_back(ids[i]);
  }
  end_block();
  return expected;
}

Ids random_output(Random& random) {
  const ThinkTokens think = *demo_tokenizer().think_tokens();
  const Ids newline = ids_of("\n"), pair = ids_of("\n\n");
  Ids ids;
  for (uint64_t i = random.below(60); i > 0; --i) {
    switch (random.below(8)) {
      case 0: ids.push_back(think.open); break;
      case 1: ids.push_back(think.close); break;
      case 2: ids.push_back(newline[0]); break;
      case 3: ids.push_back(pair[0]); break;
      // Single bytes, many of them parts of characters; then any token, added ones included.
      case 4: ids.push_back(static_cast<int32_t>(random.below(256))); break;
      default: ids.push_back(static_cast<int32_t>(random.below(8192)));
    }
  }
  return ids;
}

TEST(OutputStream, random_tokens_give_what_their_definition_says) {
  Random random(testing::test_seed());
  for (int rounds = testing::long_or(3000, 600); rounds > 0; --rounds) {
    const Ids ids = random_output(random);
    const bool inside = random.below(2) == 1;
    OutputStream stream(demo_tokenizer(), inside, {});
    stream_all(stream, ids);
    const Expected expected = expected_of(ids, inside);
    ASSERT_EQ(stream.answer(), expected.answer);
    ASSERT_EQ(stream.reasoning(), expected.reasoning);
    ASSERT_EQ(stream.think_spans(), expected.spans);
    ASSERT_EQ(stream.raw_text(), demo_tokenizer().decode(ids, false));
  }
}

TEST(OutputStream, random_stop_strings_cut_the_answer_where_one_of_them_begins) {
  Random random(testing::test_seed());
  int stopped = 0;
  const int rounds = testing::long_or(3000, 600);
  for (int round = 0; round < rounds; ++round) {
    Ids ids;
    std::string text;
    for (int i = 0; i < 40; ++i) text += "ab\n "[random.below(4)];
    ids = random.below(2) == 0 ? byte_ids(text) : ids_of(text);
    Stops stops;
    for (uint64_t i = 1 + random.below(3); i > 0; --i) {
      std::string stop;
      for (uint64_t k = 1 + random.below(6); k > 0; --k) stop += "ab\n "[random.below(4)];
      stops.push_back(stop);
    }
    OutputStream stream(demo_tokenizer(), false, stops);
    Streamed streamed = stream_all(stream, ids);
    const auto occurs = [&](const std::string& stop) {
      return text.find(stop) != std::string::npos;
    };
    ASSERT_EQ(stream.stopped(), std::ranges::any_of(stops, occurs));
    ASSERT_TRUE(text.starts_with(stream.answer()));
    if (!stream.stopped()) {
      ASSERT_EQ(stream.answer(), text);
      continue;
    }
    ++stopped;
    const std::string rest = text.substr(stream.answer().size());
    ASSERT_TRUE(
        std::ranges::any_of(stops, [&](const auto& stop) { return rest.starts_with(stop); }));
    for (const std::string& stop : stops) {
      ASSERT_EQ(stream.answer().find(stop), std::string::npos);
    }
  }
  EXPECT_GT(stopped, rounds / 6);
}

}  // namespace
}  // namespace cascade
