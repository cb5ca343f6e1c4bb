// Prints a generation as it comes: thoughts dim and marked, the answer plain, both in lines of the
// window's width.
#pragma once

#include <string>
#include <string_view>

#include "clients/cpp/client.h"
#include "clients/ctl/screen.h"
#include "clients/ctl/word_wrap.h"

namespace cascade::ctl {

class StreamPrinter {
 public:
  // Without `show_thoughts` only the answer is printed. On a terminal with colours, a temporary
  // line reports queueing, prefill and hidden thoughts.
  StreamPrinter(Screen& screen, bool show_thoughts)
      : screen_(screen), show_thoughts_(show_thoughts) {}

  void event(const client::Event& event);
  // Ends the line. Call once, also after an error.
  void finish();

 private:
  enum class Section { kNone, kThoughts, kAnswer };

  void print(const wire::Delta& delta);
  void begin(Section section);
  void write(std::string_view lines);
  void write_thoughts(std::string_view lines);
  void note(const std::string& text);
  void clear_note();

  Screen& screen_;
  bool show_thoughts_;
  Section section_ = Section::kNone;
  WordWrap wrap_;
  bool line_start_ = true;  // the current line is empty
  bool noted_ = false;      // a line is shown that must be removed
};

}  // namespace cascade::ctl
