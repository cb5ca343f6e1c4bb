// Hostile text on a terminal: nothing in it controls the terminal.
#include "base/sanitized.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/utf8.h"
#include "tests/seed.h"

namespace cascade {
namespace {

TEST(Sanitized, shows_escape_sequences_instead_of_obeying_them) {
  EXPECT_EQ(sanitized("a\x1b[31mred\x1b[0m"), "a␛[31mred␛[0m");
  EXPECT_EQ(sanitized("\x1b]0;title\x07"), "␛]0;title␇");
  EXPECT_EQ(sanitized(std::string("nul\0del\x7f", 8)), "nul␀del␡");
  EXPECT_EQ(sanitized("csi\xC2\x9B"
                      "31m"),
            "csi\uFFFD31m");
  EXPECT_EQ(sanitized("abc\u202Edcb\u2066"), "abc\uFFFDdcb\uFFFD");
  EXPECT_EQ(sanitized("bad\xFF\xC3"), "bad\uFFFD\uFFFD");
}

TEST(Sanitized, keeps_text_newlines_and_tabs) {
  EXPECT_EQ(sanitized("Grüße,\n\t世界 👋"), "Grüße,\n\t世界 👋");
  EXPECT_EQ(sanitized("dos\r\nline\rover"), "dos\nline␍over");
  EXPECT_EQ(sanitized("\r"), "␍");
}

// For any input, the output is UTF-8 without controls, and sanitising it again changes nothing.
TEST(Sanitized, lets_nothing_through_for_any_bytes) {
  Random random(testing::test_seed());
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random.below(20), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    const std::string text = sanitized(bytes);
    ASSERT_TRUE(is_utf8(text));
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = utf8_decode(text, at);
      at += c.size;
      ASSERT_TRUE(c.value == '\n' || c.value == '\t' || c.value >= 0x20);
      ASSERT_FALSE(c.value >= 0x7F && c.value < 0xA0);
    }
    ASSERT_EQ(sanitized(text), text);
  }
}

}  // namespace
}  // namespace cascade
