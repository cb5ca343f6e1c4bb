// Hostile text on a terminal: nothing in it controls the terminal, and the widths are right.
#include "clients/ctl/terminal_text.h"

#include <gtest/gtest.h>

#include "clients/ctl/screen.h"

namespace cascade::ctl {
namespace {

TEST(OneLine, folds_white_space) {
  EXPECT_EQ(one_line("  a \n\n b\t c \r\n"), "a b c");
  EXPECT_EQ(one_line(" \n "), "");
  EXPECT_EQ(one_line("a\x1b[2J"), "a␛[2J");
}

TEST(DisplayWidth, counts_columns_and_not_bytes) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("Grüße"), 5);
  EXPECT_EQ(display_width("世界"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);  // combining acute
  EXPECT_EQ(display_width("👋"), 2);
}

TEST(Fitted, cuts_between_characters) {
  EXPECT_EQ(fitted("abcdef", 6), "abcdef");
  EXPECT_EQ(fitted("abcdefg", 6), "abcde…");
  EXPECT_EQ(fitted("世界世界", 6), "世界…");
  EXPECT_LE(display_width(fitted("世界世界", 6)), 6);
  EXPECT_EQ(fitted("äöüß", 3), "äö…");
}

TEST(Padded, fills_to_columns) {
  EXPECT_EQ(padded("世", 4, false), "世  ");
  EXPECT_EQ(padded("7", 3, true), "  7");
  EXPECT_EQ(padded("long", 2, false), "long");
}

TEST(Json, escapes_what_acts_on_a_terminal) {
  OrderedJson value;
  value["text"] = "a\x1b[0m\u009B\u202E\x7f世";
  EXPECT_EQ(dump_json(value), R"({"text":"a\u001b[0m\u009b\u202e\u007f世"})");
  EXPECT_EQ(Json::parse(dump_json(value))["text"], Json(value["text"]));
}

}  // namespace
}  // namespace cascade::ctl
