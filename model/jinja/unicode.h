// What Python's str methods know about characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/utf8.h"

namespace cascade::jinja {

inline bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_ascii_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// utf8_decode(), faster where most characters are ASCII.
inline CodePoint code_point_at(std::string_view text, size_t offset) {
  const auto byte = static_cast<unsigned char>(text[offset]);
  return byte < 0x80 ? CodePoint{byte, 1} : utf8_decode(text, offset);
}

// Classes of code points, as str.isspace(), isalpha(), ... define them.
bool is_space(uint32_t code_point);
bool is_alpha(uint32_t code_point);
bool is_decimal(uint32_t code_point);
bool is_digit(uint32_t code_point);  // decimal digits, and digits in circles, superscripts, ...
bool is_alnum(uint32_t code_point);
bool is_lower(uint32_t code_point);
bool is_upper(uint32_t code_point);
bool is_title(uint32_t code_point);
bool is_cased(uint32_t code_point);
bool is_case_ignorable(uint32_t code_point);
// repr() shows all other characters as escapes.
bool is_printable(uint32_t code_point);
// Ends a line for splitlines().
bool is_line_break(uint32_t code_point);

// Python indexes by code point, we store UTF-8. All texts below are well-formed UTF-8.
size_t code_point_count(std::string_view text);
// The byte offset of code point `index`; text.size() if there are fewer.
size_t offset_of(std::string_view text, size_t index);
// The offset of the code point that ends at `offset`. Precondition: 0 < offset <= text.size().
size_t previous_offset(std::string_view text, size_t offset);

// [begin, end) of `text` without the code points of `chars` (whitespace if absent) at the ends
// that are asked for.
std::pair<size_t, size_t> strip_range(std::string_view text, std::optional<std::string_view> chars,
                                      bool left, bool right);

// The first occurrence of `needle` that begins at `from` or later (find_first), or the last one of
// all (find_last); npos if there is none. Time is linear in the sizes, whatever the texts.
size_t find_first(std::string_view text, std::string_view needle, size_t from);
size_t find_last(std::string_view text, std::string_view needle);

}  // namespace cascade::jinja
