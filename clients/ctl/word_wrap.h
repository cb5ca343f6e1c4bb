// Lines that break at the ends of words, for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cascade::ctl {

// Breaks a text that comes piece by piece. A word is held back until it is known to fit on its
// line; between wide characters (Chinese, Japanese, Korean, emoji) a line may break as between
// words, but never within what a reader takes for one character, nor before a closing mark. What is
// longer than a line is left to the terminal, which wraps it without a newline, so that it can be
// copied whole; so are lines between ``` and ```.
class WordWrap {
 public:
  // `margin`: columns that the caller's own mark takes before every line. `hanging`: spaces that
  // are written before a line that goes on.
  explicit WordWrap(int margin = 0, int hanging = 0) : margin_(margin), hanging_(hanging) {}

  // What is to be written for `text`, the next piece, which is sanitized (base/sanitized.h), if a
  // line has `columns` columns now; 0: lines have no end, and `text` is returned as it is.
  std::string add(std::string_view text, int columns);

  // What is held back. The next piece begins a line.
  std::string finish();

 private:
  // A run of text in which no line breaks, as far as it has come.
  struct Unit {
    std::string text;
    int cells = 0;
    bool written = false;  // it began a line: what follows of it is written as it comes
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
  int cells_ = 0;  // written on this line, behind the margin; more than a line if it wrapped itself
  std::string spaces_;
  int space_cells_ = 0;
  Unit unit_;
  uint32_t last_ = 0;    // the code point before, of the unit; 0: none
  int32_t cluster_ = 0;  // utf8proc's state of grapheme breaks
  std::string head_;     // the first characters of the text's own line
  bool fenced_ = false;  // between ``` and ```
};

// The whole of `text` (sanitized) in lines of `columns`; 0: as it is.
std::string wrapped(std::string_view text, int columns, int hanging = 0);

// The same behind something that takes `indent` columns: the other lines begin with as many spaces.
std::string wrapped_behind(int indent, std::string_view text, int columns);

// Lines of two columns ("  --name   What it does"), each wrapped so that the second column stays
// one; where it would be narrower than some words, it stands below the first. Other lines are
// wrapped with their own indentation. 0: as it is.
std::string wrapped_columns(std::string_view text, int columns);

}  // namespace cascade::ctl
