// The text to encode, joined from its spans, and the parts of it that are trusted.
#include "model/tokenizer/text.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/marks.h"

namespace cascade {
namespace {

// Bytes of the maximal malformed part at `offset`: the longest beginning of a code point there.
size_t malformed_size(std::string_view text, size_t offset) {
  constexpr size_t kPartMax = 3;
  for (size_t size = std::min(kPartMax, text.size() - offset); size > 1; --size) {
    if (utf8_incomplete_suffix(text.substr(offset, size)) == size) return size;
  }
  return 1;
}

void replace_malformed(TrustedText& joined) {
  std::vector<TextMark> marks = marks_within(joined.trusted, {0, joined.text.size()});
  MarkMover mover(marks);
  const std::string_view text = joined.text;
  std::string out;
  for (size_t offset = 0;;) {
    const size_t valid = utf8_valid_prefix(text.substr(offset));
    out += text.substr(offset, valid);
    offset += valid;
    mover.copied(offset, out.size());
    if (offset == text.size()) break;
    offset += malformed_size(text, offset);
    out += "\uFFFD";
    mover.replaced(offset, out.size());
  }
  mover.finish();
  joined.text = std::move(out);
  joined.trusted = ranges_of(marks);
}

// A code point that lies across the edge of a span is not trusted.
void keep_whole_code_points(TrustedText& joined) {
  const auto is_inside = [&](size_t offset) {
    return offset < joined.text.size() &&
           (static_cast<uint8_t>(joined.text[offset]) & 0xC0) == 0x80;
  };
  for (ByteRange& range : joined.trusted) {
    while (range.begin < range.end && is_inside(range.begin)) ++range.begin;
    while (range.end > range.begin && is_inside(range.end)) --range.end;
  }
  std::erase_if(joined.trusted, [](const ByteRange& range) { return range.begin == range.end; });
}

}  // namespace

Result<TrustedText> join_spans(std::span<const SpanView> spans) {
  size_t size = 0;
  for (const SpanView& span : spans) {
    size += span.text.size();
    if (span.text.size() > kEncodeBytesMax || size > kEncodeBytesMax) {
      return invalid_argument("text",
                              "has more than " + std::to_string(kEncodeBytesMax) + " bytes");
    }
  }
  TrustedText joined;
  joined.text.reserve(size);
  for (const SpanView& span : spans) {
    const size_t begin = joined.text.size();
    joined.text += span.text;
    if (span.trusted && !span.text.empty()) joined.trusted.push_back({begin, joined.text.size()});
  }
  if (!is_utf8(joined.text)) replace_malformed(joined);
  keep_whole_code_points(joined);
  return joined;
}

std::vector<TextMark> marks_within(std::span<const ByteRange> ranges, ByteRange window) {
  auto range = std::lower_bound(
      ranges.begin(), ranges.end(), window.begin,
      [](const ByteRange& candidate, size_t begin) { return candidate.end <= begin; });
  std::vector<TextMark> marks;
  for (; range != ranges.end() && range->begin < window.end; ++range) {
    marks.push_back({std::max(range->begin, window.begin) - window.begin, false});
    marks.push_back({std::min(range->end, window.end) - window.begin, true});
  }
  return marks;
}

std::vector<ByteRange> ranges_of(std::span<const TextMark> marks) {
  std::vector<ByteRange> ranges;
  for (size_t i = 0; i + 1 < marks.size(); i += 2) {
    if (marks[i].offset < marks[i + 1].offset) {
      ranges.push_back({marks[i].offset, marks[i + 1].offset});
    }
  }
  return ranges;
}

}  // namespace cascade
