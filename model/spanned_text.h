// Text that knows which parts of it we may trust to name special tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cascade {

// A piece of UTF-8 text. `trusted` text comes from the model's own files (the template's literals,
// bos_token); special tokens are recognised in it. Untrusted text comes from a client: whatever it
// spells, it becomes ordinary tokens.
struct TextSpan {
  std::string text;
  bool trusted = false;
  bool operator==(const TextSpan&) const = default;
};

// In order; neighbours differ in trust, none is empty.
using SpannedText = std::vector<TextSpan>;

// Appends `text`, joining it to the last span if that has the same trust.
inline void append_span(SpannedText& out, std::string_view text, bool trusted) {
  if (text.empty()) return;
  if (!out.empty() && out.back().trusted == trusted) {
    out.back().text += text;
  } else {
    out.push_back({std::string(text), trusted});
  }
}

// The text without the marks.
inline std::string plain_text(const SpannedText& spans) {
  std::string text;
  for (const TextSpan& span : spans) text += span.text;
  return text;
}

}  // namespace cascade
