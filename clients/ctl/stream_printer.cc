// Sections of a streamed answer.
#include "clients/ctl/stream_printer.h"

#include "base/sanitized.h"

namespace cascade::ctl {
namespace {

constexpr const char* kThoughtMark = "│ ";

}  // namespace

void StreamPrinter::event(const client::Event& event) {
  if (const auto* delta = std::get_if<wire::Delta>(&event)) return print(*delta);
  if (section_ != Section::kNone) return;
  if (const auto* accepted = std::get_if<wire::Accepted>(&event)) {
    if (accepted->queue_position > 0) {
      note("waiting behind " + std::to_string(accepted->queue_position) + " requests");
    }
  } else if (const auto* progress = std::get_if<wire::Progress>(&event)) {
    if (progress->prompt_tokens == 0) return note("waiting");
    note("reading the prompt: " + std::to_string(progress->prompt_tokens_done) + " of " +
         std::to_string(progress->prompt_tokens) + " tokens");
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
  if (wanted == Section::kThoughts) {
    print_thoughts(text);
  } else {
    screen_.out << text;
    line_start_ = text.back() == '\n';
  }
  screen_.out.flush();
}

void StreamPrinter::begin(Section section) {
  clear_note();
  if (!line_start_) screen_.out << '\n';
  if (section_ != Section::kNone) screen_.out << '\n';
  line_start_ = true;
  section_ = section;
}

void StreamPrinter::print_thoughts(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (line_start_) screen_.out << screen_.style.dim(kThoughtMark);
    screen_.out << screen_.style.dim(text.substr(0, end));
    line_start_ = end < text.size();
    if (line_start_) screen_.out << '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void StreamPrinter::finish() {
  clear_note();
  if (!line_start_) screen_.out << '\n';
  line_start_ = true;
  screen_.out.flush();
}

void StreamPrinter::note(const std::string& text) {
  if (!screen_.terminal || !screen_.style.colour()) return;
  screen_.out << "\r\x1b[K" << screen_.style.dim(text + " …");
  screen_.out.flush();
  noted_ = true;
}

void StreamPrinter::clear_note() {
  if (noted_) screen_.out << "\r\x1b[K";
  noted_ = false;
}

}  // namespace cascade::ctl
