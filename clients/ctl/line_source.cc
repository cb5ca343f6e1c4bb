// Lines of a stream, and where the history of the terminal is kept.
#include "clients/ctl/line_source.h"

#include <cstdlib>
#include <string>

namespace cascade::ctl {

Line StreamLines::next(const std::string&) {
  Line line;
  if (!std::getline(in_, line.text)) return {};
  line.status = Line::Status::kText;
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
