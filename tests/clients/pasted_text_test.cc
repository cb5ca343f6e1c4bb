// The text that a terminal sends for a paste.
#include "clients/ctl/pasted_text.h"

#include <gtest/gtest.h>

namespace cascade::ctl {
namespace {

// The text collected from `sent` up to its end mark, and how many characters were taken.
std::pair<std::wstring, size_t> collected(std::wstring_view sent) {
  PastedText pasted;
  size_t taken = 0;
  while (taken < sent.size() && !pasted.add(sent[taken++])) {
  }
  return {pasted.text(), taken};
}

TEST(PastedText, ends_at_the_mark_and_not_before) {
  const auto [text, taken] = collected(L"one\x1b[20 two\x1b[201~three");
  EXPECT_EQ(text, L"one\x1b[20 two");
  EXPECT_EQ(taken, 17u);
  EXPECT_EQ(collected(L"\x1b[201~").first, L"");
}

TEST(PastedText, has_newlines_whatever_the_terminal_sends) {
  EXPECT_EQ(collected(L"a\rb\r\nc\nd\r\x1b[201~").first, L"a\nb\nc\nd\n");
}

TEST(PastedText, takes_keys_for_text) {
  const std::wstring keys = std::wstring(L"tab\there ") + L'\x03' + L'\x04';
  EXPECT_EQ(collected(keys + L"\x1b[201~").first, keys);
  std::wstring zero = L"a";
  zero.push_back(L'\0');
  EXPECT_EQ(collected(zero + L"b\x1b[201~").first, L"ab");
}

TEST(PastedText, is_what_has_come_where_no_mark_comes) {
  EXPECT_EQ(collected(L"cut \x1b[2").first, L"cut \x1b[2");
}

}  // namespace
}  // namespace cascade::ctl
