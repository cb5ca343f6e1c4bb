// Lines that break at the ends of words, for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cascade::ctl {

// Breaks a text that comes piece by piece. A word is held back until it is known to fit on its
// line. A line may also break between wide characters (Chinese, Japanese, Korean, emoji), but never
// within what a reader takes for one character, nor before a closing mark. A word longer than a
// line is left to the terminal, which wraps it without a newline, so that it can be copied whole;
// so are lines between ``` and ```.
class WordWrap {
 public:
  // `margin`: the columns of the mark that the caller writes before every line. `hanging`: the
  // spaces that are written before a line that continues another.
  explicit WordWrap(int margin = 0, int hanging = 0) : margin_(margin), hanging_(hanging) {}

  // Takes `text`, the next piece, which is sanitized (base/sanitized.h), and returns what to write
  // now. A line has `columns` columns now; with 0, lines have no end, and everything is returned as
  // it is.
  std::string add(std::string_view text, int columns);

  // Returns the text that was held back. The next piece begins a line.
  std::string finish();

 private:
  // A run of text in which no line breaks, as far as it is known.
  struct Unit {
    std::string text;
    int cells = 0;
    bool written = false;  // the unit's beginning is written; the rest is written as it comes
  };

  void add_code_point(uint32_t value, std::string_view bytes);
  void add_space(uint32_t value, std::string_view bytes);
  void end_line();
  bool breaks_before(uint32_t value);
  void note_head(std::string_view bytes);
  void place_unit();
  void close_unit();
  int column() const;

  int margin_;
  int hanging_;
  int columns_ = 0;
  std::string out_;
  int cells_ = 0;  // written on this line after the margin; more than a line if the terminal
                   // wrapped it
  std::string spaces_;
  int space_cells_ = 0;
  Unit unit_;
  uint32_t last_ = 0;    // the previous code point of the unit; 0: none
  int32_t cluster_ = 0;  // utf8proc's state of grapheme breaks
  std::string head_;     // the first characters of the text's own line
  bool fenced_ = false;  // between ``` and ```
};

// All of `text` (sanitized) in lines of `columns`; 0: as it is.
std::string wrapped(std::string_view text, int columns, int hanging = 0);

// Like wrapped(), for text after something that takes `indent` columns: the lines after the first
// begin with as many spaces.
std::string wrapped_behind(int indent, std::string_view text, int columns);

// Wraps lines of two columns ("  --name   What it does") so that the second column stays one. If
// the second column would be too narrow, its text is put below the first. Other lines are wrapped
// with their own indentation. With 0, `text` is returned as it is.
std::string wrapped_columns(std::string_view text, int columns);

}  // namespace cascade::ctl
