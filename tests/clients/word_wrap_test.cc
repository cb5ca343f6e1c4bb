// Lines that break at the ends of words, for text of any script that arrives in any pieces.
#include "clients/ctl/word_wrap.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/random.h"
#include "base/utf8.h"
#include "clients/ctl/terminal_text.h"
#include "tests/seed.h"

namespace cascade::ctl {
namespace {

// Adds `text` code point by code point.
std::string streamed(std::string_view text, int columns, int margin = 0) {
  WordWrap wrap(margin);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t size = utf8_decode(text, i).size;
    out += wrap.add(text.substr(i, size), columns);
    i += size;
  }
  return out + wrap.finish();
}

TEST(WordWrap, breaks_at_the_ends_of_words) {
  EXPECT_EQ(wrapped("The capital of France is Paris.", 12), "The capital\nof France is\nParis.");
  EXPECT_EQ(wrapped("a  b", 4), "a  b");
  EXPECT_EQ(wrapped("aaa  bbb", 5), "aaa\nbbb") << "spaces where a line breaks are gone";
  EXPECT_EQ(wrapped("one\n\ntwo\n", 5), "one\n\ntwo\n");
  EXPECT_EQ(wrapped("  indented words", 12), "  indented\nwords");
}

TEST(WordWrap, leaves_text_as_it_is_where_lines_have_no_end) {
  const std::string text = "  a  b \n\t```\n x   ";
  EXPECT_EQ(wrapped(text, 0), text);
  EXPECT_EQ(streamed(text, 0), text);
}

TEST(WordWrap, holds_a_word_back_until_it_fits) {
  WordWrap wrap;
  EXPECT_EQ(wrap.add("one t", 8), "one");
  EXPECT_EQ(wrap.add("w", 8), "");
  EXPECT_EQ(wrap.add("o ", 8), " two");
  EXPECT_EQ(wrap.add("thr", 8), "\nthr") << "placed as soon as its line is known";
  EXPECT_EQ(wrap.add("ee", 8), "ee");
  EXPECT_EQ(wrap.add(" x", 8), "");
  EXPECT_EQ(wrap.finish(), " x");
}

TEST(WordWrap, leaves_what_is_longer_than_a_line_in_one_piece) {
  EXPECT_EQ(wrapped("see https://example.org/a/long/path now", 12),
            "see\nhttps://example.org/a/long/path now");
  // The terminal has wrapped the address: two rows of 12 are full, and 7 columns of the third are
  // taken.
  EXPECT_EQ(wrapped("https://example.org/a/long/path now or later", 12),
            "https://example.org/a/long/path now\nor later");
}

TEST(WordWrap, breaks_between_wide_characters_and_not_before_closing_marks) {
  EXPECT_EQ(wrapped("日本の首都は東京です", 10), "日本の首都\nは東京です");
  EXPECT_EQ(wrapped("日本の首都、東京", 10), "日本の首\n都、東京") << "no line begins with 、";
  EXPECT_EQ(wrapped("日本の首「東京」", 10), "日本の首\n「東京」") << "none ends with 「";
  EXPECT_EQ(wrapped("世界データ", 8), "世界デー\nタ") << "ー stays with what it lengthens";
  EXPECT_EQ(wrapped("abc世界", 5), "abc世\n界");
  EXPECT_EQ(wrapped("\"世界\"", 4), "\"世\n界\"");
}

TEST(WordWrap, counts_columns_and_not_characters) {
  EXPECT_EQ(wrapped("e\u0301te\u0301 e\u0301te\u0301 x", 7), "e\u0301te\u0301 e\u0301te\u0301\nx");
  EXPECT_EQ(wrapped("안녕 하세요 세계", 11), "안녕 하세요\n세계");
  EXPECT_EQ(wrapped("ok 😀😀😀", 8), "ok 😀😀\n😀");
}

TEST(WordWrap, keeps_together_what_a_reader_takes_for_one_character) {
  const std::string family = "👩\u200d👩\u200d👧";  // joined; some terminals show three
  EXPECT_EQ(wrapped("ab " + family + " x", 8), "ab\n" + family + " x");
  const std::string flags = "🇩🇪🇫🇷";
  EXPECT_EQ(wrapped("abcd " + flags, 8), "abcd\n" + flags);
  EXPECT_EQ(wrapped("❤\ufe0f❤\ufe0f❤\ufe0f", 4), "❤\ufe0f❤\ufe0f\n❤\ufe0f");
  EXPECT_EQ(wrapped("か\u3099か\u3099か\u3099", 4), "か\u3099か\u3099\nか\u3099");
  // The combining mark comes in a piece of its own, at the end of a line.
  WordWrap wrap;
  std::string out = wrap.add("aaa bbe", 7);
  out += wrap.add("\u0301", 7);
  out += wrap.add(" c", 7);
  EXPECT_EQ(out + wrap.finish(), "aaa bbe\u0301\nc");
}

TEST(WordWrap, tells_spaces_that_break_from_those_that_do_not) {
  EXPECT_EQ(wrapped("100\u00a0km or so", 8), "100\u00a0km\nor so");
  EXPECT_EQ(wrapped("aa 100\u00a0km", 8), "aa\n100\u00a0km");
  EXPECT_EQ(wrapped("aaa\u200bbbb", 4), "aaa\nbbb");
  EXPECT_EQ(wrapped("a\tb", 10), "a\tb");
  EXPECT_EQ(wrapped("a\tbb", 9), "a\nbb") << "a tab goes to column 8";
}

TEST(WordWrap, leaves_code_between_fences_alone) {
  const std::string code = "```sh\ncascadectl generate --session trip 'a question'\n```\n";
  EXPECT_EQ(wrapped(code + "and words again, too", 12), code + "and words\nagain, too");
  EXPECT_EQ(streamed(code + "and words again, too", 12), code + "and words\nagain, too");
}

TEST(WordWrap, goes_on_with_another_width_where_the_window_changes) {
  WordWrap wrap;
  EXPECT_EQ(wrap.add("one two three four ", 40), "one two three four");
  // The terminal now shows this text in two rows of 10; 8 columns of the second are taken.
  EXPECT_EQ(wrap.add("five six seven ", 10), "\nfive six\nseven");
  EXPECT_EQ(wrap.add("eight nine ten ", 40), " eight nine ten");
}

TEST(WordWrap, leaves_room_for_a_mark_before_every_line) {
  WordWrap wrap(2);
  std::string out = wrap.add("one two three", 9);
  EXPECT_EQ(out + wrap.finish(), "one two\nthree");
  EXPECT_EQ(wrapped_behind(6, "one two three", 13), "one two\n      three");
  EXPECT_EQ(wrapped("one two three", 8, 4), "one two\n    three");
}

TEST(WordWrap, writes_the_same_whatever_pieces_text_comes_in) {
  const std::string text =
      "Tokyo (東京) is the capital; 「首都」 means capital, e\u0301te\u0301 👩\u200d👧 and so on.\n"
      "  - https://example.org/a/very/long/path/that/is/one/word ```x``` done 世界、世界。\n";
  for (int columns = 1; columns <= 60; ++columns) {
    EXPECT_EQ(streamed(text, columns), wrapped(text, columns)) << columns;
  }
}

// The widest line of `text`, in columns.
int widest_line(const std::string& text) {
  std::istringstream lines(text);
  int widest = 0;
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, display_width(line));
  }
  return widest;
}

TEST(WordWrap, keeps_every_character_in_its_order_and_every_line_in_the_window) {
  Random random(cascade::testing::test_seed());
  const std::vector<std::string> words = {"a", "word",      "wörter", "世界", "東京。", "「首都」",
                                          "😀", "e\u0301té", "(x)",    "-",    "日",     "안녕"};
  for (int run = 0; run < 300; ++run) {
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += words[random.below(words.size())] + (random.below(9) > 0 ? " " : "\n");
    const int columns = 8 + static_cast<int>(random.below(60));
    const std::string out = wrapped(text, columns);
    EXPECT_LE(widest_line(out), columns) << out;
    const auto letters = [](std::string all) {
      std::erase_if(all, [](char c) { return c == ' ' || c == '\n'; });
      return all;
    };
    EXPECT_EQ(letters(out), letters(text));
  }
}

TEST(WrappedColumns, keep_the_second_column_one) {
  const std::string help =
      "Commands:\n  /clear       begin a new conversation; the system prompt stays, and nothing "
      "is deleted\n  /help        show this\n";
  EXPECT_EQ(wrapped_columns(help, 45),
            "Commands:\n"
            "  /clear       begin a new conversation; the\n"
            "               system prompt stays, and\n"
            "               nothing is deleted\n"
            "  /help        show this\n");
  EXPECT_EQ(wrapped_columns(help, 30),
            "Commands:\n"
            "  /clear\n"
            "      begin a new\n"
            "      conversation; the system\n"
            "      prompt stays, and\n"
            "      nothing is deleted\n"
            "  /help        show this\n");
  EXPECT_EQ(wrapped_columns(help, 0), help);
  // CLI11 puts a description below a long name.
  EXPECT_EQ(wrapped_columns("                    one two three", 30), "      one two three")
      << "no room behind its indentation";
}

}  // namespace
}  // namespace cascade::ctl
