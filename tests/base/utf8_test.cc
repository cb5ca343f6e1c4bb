// Tests of UTF-8, compared with an independent statement of its rules, over all code points and
// byte pairs.
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/seed.h"

namespace cascade {
namespace {

using namespace std::string_literals;

constexpr uint32_t kLast = 0x10FFFF;
const std::string kReplaced = "\xEF\xBF\xBD";

bool is_surrogate(uint32_t value) {
  return value >= 0xD800 && value <= 0xDFFF;
}

std::string encode(uint32_t value) {
  std::string text;
  utf8_append(text, value);
  return text;
}

// RFC 3629 as arithmetic: decode the bit patterns, then refuse surrogates, values that are too
// large, and values that would fit fewer bytes. Size 0: malformed.
size_t reference_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t size = lead < 0x80             ? 1
                      : (lead & 0xE0) == 0xC0 ? 2
                      : (lead & 0xF0) == 0xE0 ? 3
                      : (lead & 0xF8) == 0xF0 ? 4
                                              : 0;
  if (size == 0 || size > text.size()) return 0;
  uint32_t value = size == 1 ? lead : lead & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool allowed = value >= kLeast[size] && value <= kLast && !is_surrogate(value);
  return allowed ? size : 0;
}

TEST(Utf8, every_code_point_survives_encoding_and_decoding) {
  for (uint32_t value = 0; value <= kLast; ++value) {
    if (is_surrogate(value)) continue;
    const std::string text = encode(value);
    ASSERT_TRUE(is_utf8(text)) << value;
    const CodePoint decoded = utf8_decode(text, 0);
    ASSERT_EQ(decoded.value, value);
    ASSERT_EQ(decoded.size, text.size());
    ASSERT_EQ(utf8_incomplete_suffix(text), 0u) << value;
  }
}

TEST(Utf8, encodes_known_code_points) {
  EXPECT_EQ(encode(0), "\0"s);
  EXPECT_EQ(encode(0x7F), "\x7F");
  EXPECT_EQ(encode(0x80), "\xC2\x80");
  EXPECT_EQ(encode(0x7FF), "\xDF\xBF");
  EXPECT_EQ(encode(0x20AC), "\xE2\x82\xAC");
  EXPECT_EQ(encode(0xFFFF), "\xEF\xBF\xBF");
  EXPECT_EQ(encode(0x1F600), "\xF0\x9F\x98\x80");
  EXPECT_EQ(encode(0x10FFFF), "\xF4\x8F\xBF\xBF");
}

TEST(Utf8, replaces_what_is_no_code_point_when_encoding) {
  for (const uint32_t value : {0xD800u, 0xDBFFu, 0xDC00u, 0xDFFFu, 0x110000u, 0xFFFFFFFFu}) {
    EXPECT_EQ(encode(value), kReplaced) << value;
  }
}

TEST(Utf8, agrees_with_the_rules_on_all_beginnings_of_sequences) {
  for (uint32_t pair = 0; pair < 0x10000; ++pair) {
    for (const char* rest : {"", "\x80", "\x80\x80", "\xBF\xBF", "A", "\x80 "}) {
      std::string text = {static_cast<char>(pair >> 8), static_cast<char>(pair & 0xFF)};
      text += rest;
      const size_t size = reference_size(text);
      const CodePoint decoded = utf8_decode(text, 0);
      ASSERT_EQ(decoded.size, size == 0 ? 1 : size) << std::hex << pair << " " << rest;
      ASSERT_TRUE(size != 0 || decoded.value == 0xFFFDu);
      ASSERT_EQ(utf8_valid_prefix(text) == 0, size == 0) << std::hex << pair;
    }
  }
}

TEST(Utf8, finds_the_first_malformed_byte) {
  EXPECT_EQ(utf8_valid_prefix(""), 0u);
  EXPECT_EQ(utf8_valid_prefix("abc"), 3u);
  EXPECT_EQ(utf8_valid_prefix("ab\xFF"
                              "c"),
            2u);
  EXPECT_EQ(utf8_valid_prefix("\xE2\x82\xAC\xE2\x82"), 3u);
  EXPECT_EQ(utf8_valid_prefix("a\0b"s), 3u);
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // a surrogate
  EXPECT_FALSE(is_utf8("\xC0\xAF"));          // '/' in two bytes
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // U+110000
}

TEST(Utf8, decodes_at_an_offset) {
  const std::string text = "a\xE2\x82\xAC\xFFz";
  EXPECT_EQ(utf8_decode(text, 1).value, 0x20ACu);
  EXPECT_EQ(utf8_decode(text, 2).value, 0xFFFDu);
  EXPECT_EQ(utf8_decode(text, 4).value, 0xFFFDu);
  EXPECT_EQ(utf8_decode(text, 5).value, static_cast<uint32_t>('z'));
}

TEST(Utf8, holds_back_exactly_the_bytes_that_can_still_become_a_code_point) {
  EXPECT_EQ(utf8_incomplete_suffix(""), 0u);
  EXPECT_EQ(utf8_incomplete_suffix("abc"), 0u);
  EXPECT_EQ(utf8_incomplete_suffix("a\xC3"), 1u);
  EXPECT_EQ(utf8_incomplete_suffix("a\xE2\x82"), 2u);
  EXPECT_EQ(utf8_incomplete_suffix("a\xF0\x9F\x98"), 3u);
  EXPECT_EQ(utf8_incomplete_suffix("\xF0\x9F\x98\x80"), 0u);
  EXPECT_EQ(utf8_incomplete_suffix("\xC0"), 0u);              // can never be completed
  EXPECT_EQ(utf8_incomplete_suffix("\xE0\x80"), 0u);          // overlong
  EXPECT_EQ(utf8_incomplete_suffix("\xED\xA0"), 0u);          // a surrogate
  EXPECT_EQ(utf8_incomplete_suffix("\xF4\x90"), 0u);          // beyond the last
  EXPECT_EQ(utf8_incomplete_suffix("\x80\x80\x80\x80"), 0u);  // no lead byte
}

TEST(Utf8, replaces_maximal_malformed_parts_as_python_does) {
  // Left: bytes; right: bytes.decode("utf-8", errors="replace") of CPython 3, U+FFFD written as ?.
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"plain \xE2\x82\xAC", "plain \xE2\x82\xAC"},
      {"\xF0\x9F\x98", "?"},
      {"a\xF0\x9F\x98"
       "b",
       "a?b"},
      {"\xE0\x80\x80", "???"},
      {"\xED\xA0\x80", "???"},
      {"\xC0\xAF", "??"},
      {"\xF4\x90\x80\x80", "????"},
      {"\xFF\xFE", "??"},
      {"\xE2\x82", "?"},
      {"\xE2\x82\xE2\x82\xAC", "?\xE2\x82\xAC"},
      {"\xF0\x80\x80"
       "A",
       "???A"},
      {"\x80\x80", "??"},
      {"\xC3(", "?("},
      {"\xF1\x80\x80\xE1\x80\xC2"
       "b\x80"
       "c\x80\xBF"
       "d",
       "???b?c??d"},
  };
  for (const auto& [bytes, expected] : cases) {
    std::string spelled;
    for (const char c : expected) spelled += c == '?' ? kReplaced : std::string(1, c);
    EXPECT_EQ(utf8_replace_malformed(bytes), spelled);
  }
}

TEST(Utf8, any_bytes_become_utf8_and_streaming_them_gives_the_same_text) {
  Random random(testing::test_seed());
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (uint64_t n = random.below(24); n > 0; --n) {
      if (random.below(2) == 0) {
        bytes.push_back(static_cast<char>(random()));
      } else {
        utf8_append(bytes, static_cast<uint32_t>(random.below(kLast + 1)));
      }
    }
    const std::string whole = utf8_replace_malformed(bytes);
    ASSERT_TRUE(is_utf8(whole));
    ASSERT_EQ(utf8_replace_malformed(whole), whole);
    std::string held;
    std::string streamed;
    for (const char c : bytes) {
      held.push_back(c);
      const size_t ready = held.size() - utf8_incomplete_suffix(held);
      streamed += utf8_replace_malformed(std::string_view(held).substr(0, ready));
      held.erase(0, ready);
    }
    ASSERT_EQ(streamed + utf8_replace_malformed(held), whole);
  }
}

}  // namespace
}  // namespace cascade
