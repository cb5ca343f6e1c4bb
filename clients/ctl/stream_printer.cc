// Prints a streamed answer in sections: thoughts, and the answer itself.
#include "clients/ctl/stream_printer.h"

#include <algorithm>

#include "base/counted.h"
#include "base/sanitized.h"
#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {
namespace {

constexpr const char* kThoughtMark = "│ ";

}  // namespace

void StreamPrinter::event(const client::Event& event) {
  if (const auto* delta = std::get_if<wire::Delta>(&event)) return print(*delta);
  if (section_ != Section::kNone) return;
  if (const auto* accepted = std::get_if<wire::Accepted>(&event)) {
    if (accepted->queue_position > 0) {
      note("waiting behind " + counted(accepted->queue_position, "request"));
    }
  } else if (const auto* progress = std::get_if<wire::Progress>(&event)) {
    if (progress->prompt_tokens == 0) return note("waiting");
    note("reading the prompt: " + std::to_string(progress->prompt_tokens_done) + " of " +
         counted(progress->prompt_tokens, "token"));
  }
}

void StreamPrinter::print(const wire::Delta& delta) {
  if (delta.reasoning && !show_thoughts_) return note("thinking");
  const Section wanted = delta.reasoning ? Section::kThoughts : Section::kAnswer;
  std::string text = sanitized(delta.text);
  if (section_ != wanted) {
    // Models put empty lines around their thoughts.
    text.erase(0, text.find_first_not_of('\n'));
    if (text.empty()) return;
    begin(wanted);
  }
  write(wrap_.add(text, screen_.style.columns()));
  screen_.out.flush();
}

void StreamPrinter::begin(Section section) {
  clear_note();
  write(wrap_.finish());
  if (!line_start_) screen_.out << '\n';
  if (section_ != Section::kNone) screen_.out << '\n';
  line_start_ = true;
  section_ = section;
  wrap_ = WordWrap(section == Section::kThoughts ? display_width(kThoughtMark) : 0);
}

void StreamPrinter::write(std::string_view lines) {
  if (lines.empty()) return;
  if (section_ == Section::kThoughts) return write_thoughts(lines);
  screen_.out << lines;
  line_start_ = lines.back() == '\n';
}

void StreamPrinter::write_thoughts(std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    if (line_start_) screen_.out << screen_.style.dim(kThoughtMark);
    screen_.out << screen_.style.dim(lines.substr(0, end));
    line_start_ = end < lines.size();
    if (line_start_) screen_.out << '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void StreamPrinter::finish() {
  clear_note();
  write(wrap_.finish());
  if (!line_start_) screen_.out << '\n';
  line_start_ = true;
  screen_.out.flush();
}

void StreamPrinter::note(const std::string& text) {
  if (!screen_.terminal || !screen_.style.colour()) return;
  // A note must fit into one line: a note of two lines could not be removed.
  const int columns = screen_.style.columns();
  const std::string line = text + " …";
  screen_.out << "\r\x1b[K"
              << screen_.style.dim(columns > 0 ? fitted(line, std::max(columns - 1, 1)) : line);
  screen_.out.flush();
  noted_ = true;
}

void StreamPrinter::clear_note() {
  if (noted_) screen_.out << "\r\x1b[K";
  noted_ = false;
}

}  // namespace cascade::ctl
