// The text to encode, joined from its spans, and the parts of it that are trusted.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/regex.h"

namespace cascade {

// Longer texts are refused: a context of a million tokens has some 5 MB.
inline constexpr size_t kEncodeBytesMax = size_t{64} << 20;

struct SpanView {
  std::string_view text;
  bool trusted = false;
};

struct TrustedText {
  std::string text;                // well-formed UTF-8
  std::vector<ByteRange> trusted;  // not empty, ascending, whole code points
};

// Joins the spans. Each maximal malformed part becomes one U+FFFD. A character that lies across the
// edge of a span is not trusted; neighbouring trusted spans stay apart. Error: kInvalidArgument
// (field "text") if there are more than kEncodeBytesMax bytes.
Result<TrustedText> join_spans(std::span<const SpanView> spans);

// marks_within() gives the edges of the parts of `ranges` inside `window`, counted from its begin.
// ranges_of() gives the ranges with such edges, without empty ones.
std::vector<TextMark> marks_within(std::span<const ByteRange> ranges, ByteRange window);
std::vector<ByteRange> ranges_of(std::span<const TextMark> marks);

}  // namespace cascade
