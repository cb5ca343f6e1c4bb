// UTF-8 (RFC 3629): validates and decodes, and holds back the incomplete end of a byte stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cascade {

// Offset of the first byte that is not part of well-formed UTF-8 (no surrogates, no overlong forms,
// at most U+10FFFF), or text.size() if all of it is.
size_t utf8_valid_prefix(std::string_view text);
inline bool is_utf8(std::string_view text) {
  return utf8_valid_prefix(text) == text.size();
}

struct CodePoint {
  uint32_t value;  // U+FFFD for a malformed byte
  uint8_t size;    // bytes consumed, >= 1; 1 for a malformed byte
};

// Decodes the code point at text[offset]. Precondition: offset < text.size().
CodePoint utf8_decode(std::string_view text, size_t offset);

// Appends the UTF-8 form of `code_point`; U+FFFD if it is a surrogate or beyond U+10FFFF.
void utf8_append(std::string& out, uint32_t code_point);

// Number of bytes at the end of `text` that begin a code point whose remaining bytes may still
// come (0..3). A streaming decoder holds these back.
size_t utf8_incomplete_suffix(std::string_view text);

// `text` with each maximal malformed part replaced by one U+FFFD, as Python's
// bytes.decode("utf-8", errors="replace") does.
std::string utf8_replace_malformed(std::string_view text);

}  // namespace cascade
