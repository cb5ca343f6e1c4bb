// UTF-8 by the table of well-formed byte sequences (Unicode 15, table 3-7).
#include "base/utf8.h"

#include "base/check.h"

namespace cascade {
namespace {

// The allowed second byte depends on the first; the third and fourth are always 80..BF.
struct Lead {
  uint8_t length;  // 0: not a lead byte
  uint8_t second_min;
  uint8_t second_max;
};

Lead classify(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// The bytes at `offset` that belong to one sequence: how many, and whether it is complete.
struct Sequence {
  uint8_t size;    // well-formed bytes so far, >= 1 (a lone bad byte counts 1)
  bool complete;   // the sequence is a code point
  bool truncated;  // incomplete only because the text ends
};

Sequence scan(std::string_view text, size_t offset) {
  const auto byte_at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const Lead lead = classify(byte_at(offset));
  if (lead.length == 0) return {1, false, false};
  uint8_t size = 1;
  while (size < lead.length) {
    if (offset + size == text.size()) return {size, false, true};
    const uint8_t byte = byte_at(offset + size);
    const uint8_t low = size == 1 ? lead.second_min : 0x80;
    const uint8_t high = size == 1 ? lead.second_max : 0xBF;
    if (byte < low || byte > high) return {size, false, false};
    ++size;
  }
  return {size, true, false};
}

constexpr uint32_t kReplacement = 0xFFFD;

}  // namespace

size_t utf8_valid_prefix(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const Sequence sequence = scan(text, offset);
    if (!sequence.complete) return offset;
    offset += sequence.size;
  }
  return offset;
}

CodePoint utf8_decode(std::string_view text, size_t offset) {
  CHECK(offset < text.size());
  const Sequence sequence = scan(text, offset);
  if (!sequence.complete) return {kReplacement, 1};
  const auto bits = [&](size_t i) { return static_cast<uint32_t>(text[offset + i]) & 0x3Fu; };
  const uint32_t first = static_cast<uint8_t>(text[offset]);
  switch (sequence.size) {
    case 1:
      return {first, 1};
    case 2:
      return {(first & 0x1Fu) << 6 | bits(1), 2};
    case 3:
      return {(first & 0x0Fu) << 12 | bits(1) << 6 | bits(2), 3};
    default:
      return {(first & 0x07u) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3), 4};
  }
}

void utf8_append(std::string& out, uint32_t code_point) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) {
    code_point = kReplacement;
  }
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

size_t utf8_incomplete_suffix(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const size_t offset = text.size() - back;
    if ((static_cast<uint8_t>(text[offset]) & 0xC0) == 0x80) continue;  // look for the lead byte
    const Sequence sequence = scan(text, offset);
    return sequence.truncated && sequence.size == back ? back : 0;
  }
  return 0;
}

std::string utf8_replace_malformed(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t offset = 0;
  while (offset < text.size()) {
    const Sequence sequence = scan(text, offset);
    if (sequence.complete) {
      out.append(text.substr(offset, sequence.size));
    } else {
      utf8_append(out, kReplacement);
    }
    offset += sequence.size;
  }
  return out;
}

}  // namespace cascade
