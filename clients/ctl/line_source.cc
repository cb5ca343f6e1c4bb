// Reads lines from a stream, and says where the terminal's history is kept.
#include "clients/ctl/line_source.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "base/text_file.h"

namespace cascade::ctl {

Line StreamLines::next(const std::string&) {
  Line line;
  if (!std::getline(in_, line.text)) return {};
  line.status = Line::Status::kText;
  if (std::exchange(begun_, true)) return line;
  Result<std::string> text = without_byte_order_mark(std::move(line.text), "stdin");
  if (!text.ok()) return {Line::Status::kNoText, "", text.error()};
  line.text = *std::move(text);
  return line;
}

std::string history_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/cascade/chat_history";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') {
    return std::string(home) + "/.local/state/cascade/chat_history";
  }
  return "";
}

}  // namespace cascade::ctl
