// Sanitises a text code point by code point.
#include "base/sanitized.h"

#include "base/utf8.h"

namespace cascade {
namespace {

constexpr uint32_t kUnknown = 0xFFFD;
constexpr uint32_t kPictures = 0x2400;  // U+2400 SYMBOL FOR NULL, in the order of the controls
constexpr uint32_t kDelete = 0x7F;
constexpr uint32_t kPictureOfDelete = 0x2421;

bool is_bidi_control(uint32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// The replacement of a code point that must not reach a terminal; otherwise the code point itself.
uint32_t harmless(uint32_t c) {
  if (c == '\n' || c == '\t') return c;
  if (c < 0x20) return kPictures + c;
  if (c == kDelete) return kPictureOfDelete;
  if (c > kDelete && c < 0xA0) return kUnknown;
  return is_bidi_control(c) ? kUnknown : c;
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

}  // namespace cascade
