// Sanitising and measuring by code points.
#include "clients/ctl/terminal_text.h"

#include <utf8proc.h>

#include "base/utf8.h"

namespace cascade::ctl {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;
constexpr uint32_t kPictures = 0x2400;  // U+2400 SYMBOL FOR NULL, in the order of the controls
constexpr uint32_t kDelete = 0x7F;
constexpr uint32_t kPictureOfDelete = 0x2421;

bool is_bidi_control(uint32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// What stands for a code point that must not reach a terminal; the code point itself otherwise.
uint32_t harmless(uint32_t c) {
  if (c == '\n' || c == '\t') return c;
  if (c < 0x20) return kPictures + c;
  if (c == kDelete) return kPictureOfDelete;
  if (c > kDelete && c < 0xA0) return kReplacement;
  return is_bidi_control(c) ? kReplacement : c;
}

int width_of(uint32_t c) {
  return utf8proc_charwidth(static_cast<utf8proc_int32_t>(c));
}

}  // namespace

std::string sanitized(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = utf8_decode(text, i);
    const bool before_newline = i + 1 < text.size() && text[i + 1] == '\n';
    i += c.size;
    if (c.value == '\r' && before_newline) continue;
    utf8_append(out, harmless(c.value));
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out;
  bool space = false;
  for (const char c : sanitized(text)) {
    if (c == ' ' || c == '\n' || c == '\t') {
      space = !out.empty();
      continue;
    }
    if (space) out.push_back(' ');
    space = false;
    out.push_back(c);
  }
  return out;
}

int display_width(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = utf8_decode(text, i);
    i += c.size;
    width += width_of(c.value);
  }
  return width;
}

std::string fitted(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  int width = 0;
  size_t end = 0;
  while (end < text.size()) {
    const CodePoint c = utf8_decode(text, end);
    if (width + width_of(c.value) > columns - 1) break;
    width += width_of(c.value);
    end += c.size;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string padded(std::string_view text, int columns, bool to_the_right) {
  const int missing = columns - display_width(text);
  const std::string spaces(missing > 0 ? static_cast<size_t>(missing) : 0, ' ');
  return to_the_right ? spaces + std::string(text) : std::string(text) + spaces;
}

}  // namespace cascade::ctl
