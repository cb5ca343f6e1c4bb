// Character classes (from utf8proc, with what Python adds), and positions in UTF-8.
#include "model/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <iterator>
#include <string>

namespace cascade::jinja {
namespace {

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

// Other_Lowercase, Other_Uppercase (Unicode PropList.txt).
constexpr CodePointRange kOtherLower[] = {
    {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},    {0x2E0, 0x2E4},
    {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},  {0x1D9B, 0x1DBF},
    {0x2071, 0x2071},   {0x207F, 0x207F},   {0x2090, 0x209C},   {0x2170, 0x217F},  {0x24D0, 0x24E9},
    {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},  {0xAB5C, 0xAB5F},
    {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};
constexpr CodePointRange kOtherUpper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

// Numeric_Type = Digit (Unicode DerivedNumericType.txt).
constexpr CodePointRange kOtherDigit[] = {
    {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
    {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
    {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
    {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};

// Word_Break = MidLetter, MidNumLet or Single_Quote (Unicode WordBreakProperty.txt).
constexpr uint32_t kMidLetters[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,
                                    0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                    0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};

// The ranges are ascending.
template <size_t kSize>
bool contains(const CodePointRange (&ranges)[kSize], uint32_t code_point) {
  if (code_point < ranges[0].first) return false;
  return std::ranges::any_of(ranges, [&](const CodePointRange& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

utf8proc_category_t category(uint32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The set of the characters of a text, or of all space characters.
class CharacterSet {
 public:
  explicit CharacterSet(std::optional<std::string_view> chars) : chars_(chars) {
    for (const char c : chars.value_or("")) {
      if (!has_high_bit(c)) ascii_.set(static_cast<size_t>(c));
    }
  }

  bool contains(uint32_t code_point) const {
    if (!chars_.has_value()) return is_space(code_point);
    if (code_point < ascii_.size()) return ascii_.test(code_point);
    for (size_t i = 0; i < chars_->size();) {
      const CodePoint member = code_point_at(*chars_, i);
      if (member.value == code_point) return true;
      i += member.size;
    }
    return false;
  }

 private:
  static bool has_high_bit(char c) { return static_cast<unsigned char>(c) >= 0x80; }

  const std::optional<std::string_view> chars_;
  std::bitset<0x80> ascii_;
};

}  // namespace

bool is_space(uint32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_alpha(uint32_t c) {
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(uint32_t c) {
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(uint32_t c) {
  return is_decimal(c) || contains(kOtherDigit, c);
}

bool is_alnum(uint32_t c) {
  const utf8proc_category_t kind = category(c);
  return is_alpha(c) || (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO);
}

bool is_lower(uint32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LL || contains(kOtherLower, c);
}

bool is_upper(uint32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LU || contains(kOtherUpper, c);
}

bool is_title(uint32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LT;
}

bool is_cased(uint32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      return contains(kOtherLower, c) || contains(kOtherUpper, c);
  }
}

bool is_case_ignorable(uint32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return std::ranges::find(kMidLetters, c) != std::end(kMidLetters);
  }
}

bool is_printable(uint32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_line_break(uint32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

size_t code_point_count(std::string_view text) {
  return text.size() - static_cast<size_t>(std::ranges::count_if(text, is_continuation));
}

size_t offset_of(std::string_view text, size_t index) {
  size_t offset = 0;
  while (offset < text.size()) {
    if (!is_continuation(text[offset]) && index-- == 0) return offset;
    ++offset;
  }
  return offset;
}

size_t previous_offset(std::string_view text, size_t offset) {
  --offset;
  while (offset > 0 && is_continuation(text[offset])) --offset;
  return offset;
}

std::pair<size_t, size_t> strip_range(std::string_view text, std::optional<std::string_view> chars,
                                      bool left, bool right) {
  const CharacterSet set(chars);
  size_t begin = 0;
  size_t end = text.size();
  while (left && begin < end) {
    const CodePoint code_point = code_point_at(text, begin);
    if (!set.contains(code_point.value)) break;
    begin += code_point.size;
  }
  while (right && begin < end) {
    const size_t last = previous_offset(text, end);
    if (!set.contains(code_point_at(text, last).value)) break;
    end = last;
  }
  return {begin, end};
}

size_t find_first(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  const char* begin = text.data() + from;
  const void* found = memmem(begin, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return from + static_cast<size_t>(static_cast<const char*>(found) - begin);
}

size_t find_last(std::string_view text, std::string_view needle) {
  const PaidString reversed_text(text.rbegin(), text.rend());
  const PaidString reversed_needle(needle.rbegin(), needle.rend());
  const size_t found = find_first(reversed_text, reversed_needle, 0);
  if (found == std::string_view::npos) return found;
  return text.size() - found - needle.size();
}

}  // namespace cascade::jinja
