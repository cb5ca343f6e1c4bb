// Line ends around thoughts are the template's.
#include "model/thought_text.h"

#include <algorithm>
#include <utility>

#include "model/think_marks.h"

namespace cascade {
namespace {

std::string_view without_first_line_ends(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  return text;
}

}  // namespace

void ThoughtText::begin_block(bool has_header) {
  at_begin_ = true;
  has_header_ = has_header || header_.empty();
  held_.clear();
  tail_ = text_.empty() ? "" : "\n";
}

std::string ThoughtText::push(std::string_view text) {
  std::string grown;
  if (at_begin_) {
    held_ += text;
    std::string_view rest = without_first_line_ends(held_);
    if (!has_header_ && rest.size() < header_.size() && header_.starts_with(rest)) return {};
    if (!std::exchange(has_header_, true) && rest.starts_with(header_)) {
      rest = without_first_line_ends(rest.substr(header_.size()));
    }
    held_ = rest;
    if (held_.empty()) return {};
    at_begin_ = false;
    grown = tail_ + std::exchange(held_, {});
  } else {
    grown = tail_ + std::string(text);
  }
  const size_t content = grown.find_last_not_of('\n') + 1;  // 0 if there are line ends only
  tail_ = grown.substr(content);
  grown.resize(content);
  text_ += grown;
  return grown;
}

std::string_view thoughts_of_block(std::string_view text, std::string_view raw_text) {
  for (const ThinkMarks& marks : kThinkMarks) {
    if (raw_text.find(marks.open) == raw_text.npos) continue;
    if (text.starts_with(marks.open)) text.remove_prefix(marks.open.size());
    text = without_first_line_ends(text);
    if (marks.header.starts_with(text)) return "";  // the block ended in its header
    if (text.starts_with(marks.header)) text.remove_prefix(marks.header.size());
  }
  text = without_first_line_ends(text);
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

}  // namespace cascade
