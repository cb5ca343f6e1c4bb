// Divides a text at its added tokens.
#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/added_tokens_table.h"
#include "model/tokenizer/pre_tokenizer_classes.h"

namespace cascade {
namespace {

// Letters of the category So, which Unicode counts as alphabetic.
bool is_circled_letter(uint32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

// Unicode's \w: alphabetic, marks, decimal digits, connectors and joiners.
bool is_word_character(uint32_t c) {
  if (c == 0x200C || c == 0x200D || is_circled_letter(c)) return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

bool is_space(uint32_t c) {
  return CharacterClasses::instance().of(c) == CharacterClass::kSpace;
}

// Start of the code point that ends at `end`. Precondition: end > 0.
size_t previous_start(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  return begin;
}

}  // namespace

bool AddedTokensScan::is_word_beside(ByteRange range) const {
  const auto is_word_at = [&](size_t offset) {
    return is_word_character(utf8_decode(text_, offset).value);
  };
  return (range.begin > 0 && is_word_at(previous_start(text_, range.begin))) ||
         (range.end < text_.size() && is_word_at(range.end));
}

size_t AddedTokensScan::spaces_end(size_t begin) {
  if (begin >= spaces_.begin && begin < spaces_.end) return spaces_.end;
  size_t end = begin;
  while (end < text_.size()) {
    const CodePoint c = utf8_decode(text_, end);
    if (!is_space(c.value)) break;
    end += c.size;
  }
  spaces_ = {begin, end};
  return end;
}

ByteRange AddedTokensScan::with_spaces(ByteRange range, const AddedToken& token) {
  size_t begin = range.begin;
  while (token.strips_left && begin > done_) {
    const size_t previous = previous_start(text_, begin);
    if (!is_space(utf8_decode(text_, previous).value)) break;
    begin = previous;
  }
  return {begin, token.strips_right ? spaces_end(range.end) : range.end};
}

// As in the reference, a match that is refused still uses up its text, and a token may begin in the
// white space that the token before it took.
std::optional<AddedTokenPart> AddedTokensScan::next() {
  if (pending_) return std::exchange(pending_, std::nullopt);
  while (const auto match = scan_.next()) {
    const AddedToken& token = tokens_.tokens()[match->value];
    if (token.is_single_word && is_word_beside(match->range)) continue;
    const AddedTokenPart part{with_spaces(match->range, token), &token};
    const ByteRange gap{std::exchange(done_, part.range.end), part.range.begin};
    if (gap.begin >= gap.end) return part;
    pending_ = part;
    return AddedTokenPart{gap, nullptr};
  }
  const ByteRange rest{std::exchange(done_, text_.size()), text_.size()};
  if (rest.begin >= rest.end) return std::nullopt;
  return AddedTokenPart{rest, nullptr};
}

}  // namespace cascade
