// Cutting, splitting and replacing marked text.
#include "model/jinja/string_ops.h"

#include <algorithm>

#include "model/jinja/error.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

struct Piece {
  size_t begin;
  size_t end;
};

std::optional<std::string_view> view_of(const MarkedText* chars) {
  if (chars == nullptr) return std::nullopt;
  return chars->view();
}

PaidVector<MarkedText> slices(const MarkedText& text, const PaidVector<Piece>& pieces) {
  PaidVector<MarkedText> parts;
  parts.reserve(pieces.size());
  for (const Piece& piece : pieces) parts.push_back(text.slice(piece.begin, piece.end));
  return parts;
}

// The offsets at which `separator` begins, without overlaps, searched from the left.
PaidVector<size_t> occurrences(std::string_view view, std::string_view separator, int64_t limit) {
  PaidVector<size_t> found;
  size_t from = 0;
  while (limit == kNoLimit || static_cast<int64_t>(found.size()) < limit) {
    const size_t at = find_first(view, separator, from);
    if (at == std::string_view::npos) break;
    found.push_back(at);
    from = at + separator.size();
  }
  return found;
}

// The offsets at which `separator` begins, searched from the right, in ascending order.
PaidVector<size_t> occurrences_from_right(std::string_view view, std::string_view separator,
                                          int64_t limit) {
  const PaidString reversed(view.rbegin(), view.rend());
  const PaidString reversed_separator(separator.rbegin(), separator.rend());
  PaidVector<size_t> found = occurrences(reversed, reversed_separator, limit);
  std::ranges::reverse(found);
  for (size_t& at : found) at = view.size() - at - separator.size();
  return found;
}

PaidVector<Piece> words(std::string_view view) {
  PaidVector<Piece> pieces;
  bool in_word = false;
  for (size_t offset = 0; offset < view.size();) {
    const CodePoint code_point = code_point_at(view, offset);
    const bool is_word = !is_space(code_point.value);
    if (is_word && !in_word) pieces.push_back({offset, view.size()});
    if (!is_word && in_word) pieces.back().end = offset;
    in_word = is_word;
    offset += code_point.size;
  }
  return pieces;
}

// Replaces an empty text: puts `to` before each character and at the end.
Result<MarkedText> interleaved(Runtime& runtime, const MarkedText& text, const MarkedText& to,
                               int64_t limit) {
  const size_t characters = code_point_count(text.view()) + 1;
  const size_t insertions =
      limit == kNoLimit ? characters : std::min(characters, static_cast<size_t>(limit));
  RETURN_IF_ERROR(runtime.charge_bytes(text.size()));
  MarkedText out;
  out.reserve(text.size() + insertions * to.size());
  for (size_t offset = 0; offset < text.size(); --limit) {
    if (limit == 0) {
      out.append(text, offset, text.size());
      return out;
    }
    const size_t next = offset + utf8_decode(text.view(), offset).size;
    out.append(to);
    out.append(text, offset, next);
    offset = next;
  }
  if (limit != 0) out.append(to);
  return out;
}

}  // namespace

Result<MarkedText> stripped(Runtime& runtime, const MarkedText& text, const MarkedText* chars,
                            bool left, bool right) {
  // Each character at the ends of the text is looked up in `chars`.
  const size_t set_size = chars == nullptr ? 1 : chars->size() + 1;
  RETURN_IF_ERROR(runtime.charge_bytes((text.size() + 1) * set_size));
  const auto [begin, end] = strip_range(text.view(), view_of(chars), left, right);
  return text.slice(begin, end);
}

Result<PaidVector<MarkedText>> split(Runtime& runtime, const MarkedText& text,
                                     const MarkedText& separator, int64_t limit, bool from_right) {
  if (separator.empty()) return template_error("the separator of a split is empty");
  if (limit < 0) limit = kNoLimit;
  RETURN_IF_ERROR(runtime.charge_bytes(text.size() + separator.size()));
  const PaidVector<size_t> found =
      from_right ? occurrences_from_right(text.view(), separator.view(), limit)
                 : occurrences(text.view(), separator.view(), limit);
  PaidVector<Piece> pieces;
  pieces.reserve(found.size() + 1);
  size_t begin = 0;
  for (const size_t at : found) {
    pieces.push_back({begin, at});
    begin = at + separator.size();
  }
  pieces.push_back({begin, text.size()});
  return slices(text, pieces);
}

Result<PaidVector<MarkedText>> split_at_space(Runtime& runtime, const MarkedText& text,
                                              int64_t limit, bool from_right) {
  RETURN_IF_ERROR(runtime.charge_bytes(text.size()));
  PaidVector<Piece> pieces = words(text.view());
  const size_t splits = limit < 0 ? pieces.size() : static_cast<size_t>(limit);
  if (pieces.size() > splits + 1) {
    // The words beyond the limit stay one piece, which keeps the space at its outer end.
    if (from_right) {
      const auto last = pieces.end() - static_cast<std::ptrdiff_t>(splits) - 1;
      last->begin = 0;
      pieces.erase(pieces.begin(), last);
    } else {
      pieces.resize(splits + 1);
      pieces.back().end = text.size();
    }
  } else if (pieces.size() == splits + 1) {
    (from_right ? pieces.front().begin : pieces.back().end) = from_right ? 0 : text.size();
  }
  return slices(text, pieces);
}

Result<PaidVector<MarkedText>> split_lines(Runtime& runtime, const MarkedText& text,
                                           bool keeps_ends) {
  RETURN_IF_ERROR(runtime.charge_bytes(text.size()));
  const std::string_view view = text.view();
  PaidVector<Piece> pieces;
  size_t begin = 0;
  for (size_t offset = 0; offset < view.size();) {
    const CodePoint code_point = code_point_at(view, offset);
    const size_t line_end = offset;
    offset += code_point.size;
    if (!is_line_break(code_point.value)) continue;
    if (code_point.value == '\r' && offset < view.size() && view[offset] == '\n') ++offset;
    pieces.push_back({begin, keeps_ends ? offset : line_end});
    begin = offset;
  }
  if (begin < view.size()) pieces.push_back({begin, view.size()});
  return slices(text, pieces);
}

Result<MarkedText> replaced(Runtime& runtime, const MarkedText& text, const MarkedText& from,
                            const MarkedText& to, int64_t limit) {
  if (limit < 0) limit = kNoLimit;
  if (from.empty()) return interleaved(runtime, text, to, limit);
  RETURN_IF_ERROR(runtime.charge_bytes(text.bytes_held() + from.size()));
  const PaidVector<size_t> found = occurrences(text.view(), from.view(), limit);
  MarkedText out;
  out.reserve(text.size() - found.size() * from.size() + found.size() * to.size());
  size_t begin = 0;
  for (const size_t at : found) {
    out.append(text, begin, at);
    out.append(to);
    begin = at + from.size();
  }
  out.append(text, begin, text.size());
  return out;
}

MarkedText joined(const PaidVector<MarkedText>& texts, const MarkedText& separator) {
  size_t size = 0;
  for (const MarkedText& text : texts) size += text.size() + separator.size();
  MarkedText out;
  out.reserve(size - (texts.empty() ? 0 : separator.size()));
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(texts[i]);
  }
  return out;
}

Result<Value> list_of_strings(PaidVector<MarkedText> texts) {
  PaidVector<Value> items;
  items.reserve(texts.size());
  for (MarkedText& text : texts) items.push_back(make_string(std::move(text)));
  return make_list(std::move(items));
}

}  // namespace cascade::jinja
