// The normalizer of tokenizer.json: rewrites a text before it is cut into words.
#include "model/tokenizer/normalizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/json.h"
#include "model/tokenizer/marks.h"
#include "model/tokenizer/pre_tokenizer_classes.h"

namespace cascade {
namespace {

bool is_ascii(char c) {
  return static_cast<uint8_t>(c) < 0x80;
}

// One rewriting of a text by one step.
class Rewrite {
 public:
  Rewrite(std::string& text, std::vector<TextMark>& marks, RegexScratch& scratch)
      : text_(text),
        marks_(marks),
        mover_(marks),
        scratch_(scratch),
        bytes_max_(scratch.budget().bytes_left()) {}

  // An ASCII character never combines with the character before it. So the text is normalised in
  // stretches from one ASCII character to the next, and stretches of ASCII only stay as they are.
  Status operator()(UnicodeForm form) {
    const auto next = [&](size_t from, bool ascii) {
      const auto at = text_.begin() + static_cast<ptrdiff_t>(from);
      return static_cast<size_t>(
          std::find_if(at, text_.end(), [&](char c) { return is_ascii(c) == ascii; }) -
          text_.begin());
    };
    size_t begin = next(0, false);
    if (begin == text_.size()) return {};
    while (begin < text_.size()) {
      begin = std::max(begin, copied_ + 1) - 1;
      if (!copy_until(begin)) return scratch_.budget().too_long();
      const size_t end = next(next(begin, false), true);
      if (!normalize_until(end, form)) return scratch_.budget().too_long();
      begin = next(end, false);
    }
    return finish();
  }

  Status operator()(const PrependStep& step) {
    if (text_.empty()) return {};
    if (text_.size() + step.text.size() > bytes_max_) return scratch_.budget().too_long();
    for (TextMark& mark : marks_) {
      if (mark.offset > 0) mark.offset += step.text.size();
    }
    text_.insert(0, step.text);
    return {};
  }

  Status operator()(const ReplaceStep& step) {
    if (const auto* literal = std::get_if<std::string>(&step.pattern)) {
      for (size_t at = text_.find(*literal); at != std::string::npos;
           at = text_.find(*literal, at + literal->size())) {
        if (!replace({at, at + literal->size()}, step.content)) return scratch_.budget().too_long();
      }
      return finish();
    }
    TokenizerRegex::Matches matches(std::get<TokenizerRegex>(step.pattern), text_, scratch_);
    for (;;) {
      ASSIGN_OR_RETURN(const std::optional<ByteRange> match, matches.next());
      if (!match) return finish();
      if (!replace(*match, step.content)) return scratch_.budget().too_long();
    }
  }

  Status operator()(const TrimStep& step) {
    size_t begin = 0;
    size_t end = text_.size();
    while (step.is_left && begin < end && is_space(begin)) begin += utf8_decode(text_, begin).size;
    while (step.is_right && begin < end) {
      size_t last = end - 1;
      while (last > begin && (static_cast<uint8_t>(text_[last]) & 0xC0) == 0x80) --last;
      if (!is_space(last)) break;
      end = last;
    }
    for (TextMark& mark : marks_) mark.offset = std::clamp(mark.offset, begin, end) - begin;
    text_ = text_.substr(begin, end - begin);
    return {};
  }

 private:
  bool is_space(size_t offset) const {
    return CharacterClasses::instance().of(utf8_decode(text_, offset).value) ==
           CharacterClass::kSpace;
  }

  // Copies the text from the end of the last stretch to `end`. This function and the next two
  // return false at the limit.
  bool copy_until(size_t end) {
    if (out_.size() + (end - copied_) > bytes_max_) return false;
    out_.append(text_, copied_, end - copied_);
    copied_ = end;
    mover_.copied(end, out_.size());
    return true;
  }

  bool replace(ByteRange match, const std::string& content) {
    if (!copy_until(match.begin)) return false;
    if (out_.size() + content.size() > bytes_max_) return false;
    out_ += content;
    copied_ = match.end;
    mover_.replaced(match.end, out_.size());
    return true;
  }

  bool normalize_until(size_t end, UnicodeForm form) {
    const size_t out_begin = out_.size();
    if (!append_stretch(copied_, end, form)) return false;
    if (mover_.has_mark_before(end)) move_marks(end, form, out_begin);
    copied_ = end;
    mover_.replaced(end, out_.size());
    return true;
  }

  // If the parts between marks, normalised one by one, give the same text as the whole stretch, the
  // marks stay as exact as they were.
  void move_marks(size_t end, UnicodeForm form, size_t out_begin) {
    std::vector<size_t> edges = mover_.offsets_inside(end);
    if (edges.empty()) return;
    const std::string whole = out_.substr(out_begin);
    edges.push_back(end);
    std::vector<size_t> new_edges;
    std::string parts;
    for (size_t i = 0, begin = copied_; i < edges.size(); begin = edges[i++]) {
      const std::string_view part = std::string_view(text_).substr(begin, edges[i] - begin);
      if (!append_normalized(parts, part, form, bytes_max_)) return;
      new_edges.push_back(out_begin + parts.size());
    }
    if (parts != whole) return;
    for (size_t i = 0; i + 1 < edges.size(); ++i) mover_.replaced(edges[i], new_edges[i]);
  }

  bool append_stretch(size_t begin, size_t end, UnicodeForm form) {
    return append_normalized(out_, std::string_view(text_).substr(begin, end - begin), form,
                             bytes_max_);
  }

  Status finish() {
    if (!copy_until(text_.size())) return scratch_.budget().too_long();
    mover_.finish();
    text_ = std::move(out_);
    return {};
  }

  std::string& text_;
  std::vector<TextMark>& marks_;
  MarkMover mover_;
  RegexScratch& scratch_;
  const size_t bytes_max_;
  std::string out_;
  size_t copied_ = 0;  // how much of the old text is done
};

}  // namespace

Status Normalizer::apply(std::string& text, std::vector<TextMark>& marks,
                         RegexScratch& scratch) const {
  for (const NormalizerStep& step : steps_) {
    RETURN_IF_ERROR(std::visit(Rewrite(text, marks, scratch), step));
  }
  if (!scratch.budget().take_bytes(text.size())) return scratch.budget().too_long();
  return {};
}

}  // namespace cascade
