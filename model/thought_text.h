// The text of a model's thoughts.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

// Joins blocks of thoughts, without the line ends at the edges of each and without its header; a
// line end is between two blocks. One generation, one thread.
class ThoughtText {
 public:
  // `header`: what a block may begin with (model/think_marks.h).
  explicit ThoughtText(std::string_view header) : header_(header) {}

  // Begins a block. `has_header`: its header came before the text.
  void begin_block(bool has_header);
  // Takes text of the block and returns what has become certain.
  std::string push(std::string_view text);
  // All of the thoughts that push() returned.
  const std::string& text() const { return text_; }

 private:
  const std::string header_;
  bool at_begin_ = false;  // no text of the block came
  bool has_header_ = false;
  std::string held_;  // at_begin_: what may be the header
  std::string tail_;  // line ends that count only if text follows in the block
  std::string text_;
};

// The thoughts in the text of one block. It may begin with the mark that opens the block.
// `raw_text`: all that the model generated, which tells what marks it writes.
std::string_view thoughts_of_block(std::string_view text, std::string_view raw_text);

}  // namespace cascade
