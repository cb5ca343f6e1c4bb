// Lines may break at spaces and between wide characters: the rules of UAX #14 that need no table of
// their own.
#include "clients/ctl/word_wrap.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {
namespace {

constexpr int kTabColumns = 8;
constexpr uint32_t kEmojiForm = 0xFE0F;  // asks for the wide form of a narrow character
constexpr uint32_t kZeroWidthSpace = 0x200B;

// A narrower second column would be hard to read: its text is put below the first column.
constexpr int kSecondColumnMin = 24;
constexpr int kBelowIndent = 6;

utf8proc_category_t category_of(uint32_t value) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(value));
}

int cells_of(uint32_t value) {
  return utf8proc_charwidth(static_cast<utf8proc_int32_t>(value));
}

bool is_space(uint32_t value) {
  const bool glued = value == 0xA0 || value == 0x2007 || value == 0x202F;  // no-break spaces
  return value == '\t' || value == kZeroWidthSpace ||
         (!glued && category_of(value) == UTF8PROC_CATEGORY_ZS);
}

bool is_punctuation(uint32_t value) {
  const utf8proc_category_t category = category_of(value);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// Whether no line may begin with the character, as it belongs to the one before: "。", "」", "ー".
bool begins_no_line(uint32_t value) {
  const utf8proc_category_t category = category_of(value);
  const bool opens = category == UTF8PROC_CATEGORY_PS || category == UTF8PROC_CATEGORY_PI;
  if (cells_of(value) < 2) return is_punctuation(value);
  return (is_punctuation(value) && !opens) || category == UTF8PROC_CATEGORY_LM;
}

// Whether no line may end with the character: "「" and the like.
bool ends_no_line(uint32_t value) {
  const utf8proc_category_t category = category_of(value);
  if (cells_of(value) < 2) return is_punctuation(value);
  return category == UTF8PROC_CATEGORY_PS || category == UTF8PROC_CATEGORY_PI;
}

std::string spaces(int count) {
  return std::string(static_cast<size_t>(std::max(count, 0)), ' ');
}

}  // namespace

std::string WordWrap::add(std::string_view text, int columns) {
  if (columns <= 0) return finish() + std::string(text);
  columns_ = columns;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = utf8_decode(text, i);
    add_code_point(c.value, text.substr(i, c.size));
    i += c.size;
  }
  // A word that begins a line, or does not fit on this one, is placed no matter what follows.
  const bool fits = column() + space_cells_ + unit_.cells <= columns_;
  if (!unit_.text.empty() && (cells_ == 0 || !fits)) place_unit();
  return std::exchange(out_, {});
}

std::string WordWrap::finish() {
  close_unit();
  spaces_.clear();
  space_cells_ = 0;
  cells_ = 0;
  head_.clear();
  fenced_ = false;
  return std::exchange(out_, {});
}

void WordWrap::add_code_point(uint32_t value, std::string_view bytes) {
  if (value == '\n') return end_line();
  note_head(bytes);
  if (fenced_) {
    out_ += bytes;
    cells_ += cells_of(value);
    return;
  }
  if (is_space(value)) return add_space(value, bytes);
  if (breaks_before(value)) close_unit();
  int cells = cells_of(value);
  if (value == kEmojiForm && last_ != 0 && cells_of(last_) == 1) cells = 1;
  last_ = value;
  if (unit_.written) {
    out_ += bytes;
    cells_ += cells;
    return;
  }
  unit_.text += bytes;
  unit_.cells += cells;
}

void WordWrap::add_space(uint32_t value, std::string_view bytes) {
  close_unit();
  spaces_ += bytes;
  const int at = column() + space_cells_;
  space_cells_ += value == '\t' ? kTabColumns - at % kTabColumns : cells_of(value);
}

void WordWrap::end_line() {
  close_unit();
  spaces_.clear();
  space_cells_ = 0;
  if (head_ == "```") fenced_ = !fenced_;
  head_.clear();
  out_ += '\n';
  cells_ = 0;
}

// Also tracks grapheme clusters, so call it exactly once for each code point of a unit.
bool WordWrap::breaks_before(uint32_t value) {
  if (last_ == 0) return false;
  const bool new_cluster = utf8proc_grapheme_break_stateful(
      static_cast<utf8proc_int32_t>(last_), static_cast<utf8proc_int32_t>(value), &cluster_);
  if (!new_cluster || begins_no_line(value) || ends_no_line(last_)) return false;
  return cells_of(value) == 2 || cells_of(last_) == 2 || last_ == kEmojiForm;
}

void WordWrap::note_head(std::string_view bytes) {
  constexpr size_t kFenceLength = 3;
  if (head_.size() < kFenceLength && !(head_.empty() && bytes == " ")) head_ += bytes;
}

// Writes the unit, on a new line if it does not fit on this one.
void WordWrap::place_unit() {
  if (unit_.written) return;
  if (cells_ > 0 && column() + space_cells_ + unit_.cells > columns_) {
    out_ += '\n' + spaces(hanging_);
    cells_ = hanging_;
  } else {
    out_ += spaces_;
    cells_ += space_cells_;
  }
  out_ += unit_.text;
  cells_ += unit_.cells;
  spaces_.clear();
  space_cells_ = 0;
  unit_.written = true;
}

void WordWrap::close_unit() {
  if (!unit_.text.empty()) place_unit();
  unit_ = {};
  last_ = 0;
  cluster_ = 0;
}

// The column of the cursor, counted from 0. If the line is full, it is the number of columns.
int WordWrap::column() const {
  const int width = margin_ + cells_;
  return width <= columns_ ? width : (width - 1) % columns_ + 1;
}

std::string wrapped(std::string_view text, int columns, int hanging) {
  WordWrap wrap(0, hanging);
  std::string out = wrap.add(text, columns);
  return out + wrap.finish();
}

std::string wrapped_behind(int indent, std::string_view text, int columns) {
  WordWrap wrap(indent);
  std::string lines = wrap.add(text, columns);
  lines += wrap.finish();
  std::string out;
  for (const char c : lines) {
    out += c;
    if (c == '\n') out += spaces(indent);
  }
  return out;
}

namespace {

// Where the second column of a line begins, after two spaces or more; npos if the line has none.
size_t second_column(std::string_view line) {
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos) return first;
  const size_t gap = line.find("  ", first);
  return gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
}

std::string wrapped_line(std::string_view line, int columns) {
  if (display_width(line) <= columns) return std::string(line);
  const int indent = static_cast<int>(std::min(line.find_first_not_of(' '), line.size()));
  const size_t second = second_column(line);
  if (second == std::string_view::npos) {
    // The whole line may belong to the second column of the line before.
    const int hanging =
        columns - indent < kSecondColumnMin ? std::min(indent, kBelowIndent) : indent;
    return wrapped(spaces(hanging) + std::string(line.substr(static_cast<size_t>(indent))), columns,
                   hanging);
  }
  const int at = display_width(line.substr(0, second));
  if (columns - at >= kSecondColumnMin) return wrapped(line, columns, at);
  const std::string_view name = line.substr(0, line.find_last_not_of(' ', second - 1) + 1);
  return wrapped(name, columns, kBelowIndent) + '\n' +
         wrapped(spaces(kBelowIndent) + std::string(line.substr(second)), columns, kBelowIndent);
}

}  // namespace

std::string wrapped_columns(std::string_view text, int columns) {
  if (columns <= 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += wrapped_line(text.substr(0, end), columns);
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace cascade::ctl
