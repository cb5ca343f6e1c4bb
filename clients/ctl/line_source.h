// Where the chat's lines come from: a terminal with line editing, or any stream.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::ctl {

struct Line {
  enum class Status { kText, kEnd, kInterrupted, kNoText } status = Status::kEnd;
  std::string text;  // without its newline; has newlines if several lines were pasted
  std::optional<Error> error = {};  // with kNoText: why the source cannot be read
};

class LineSource {
 public:
  virtual ~LineSource() = default;
  virtual Line next(const std::string& prompt) = 0;
  // Reads a line that answers `question`; it does not enter the history.
  virtual Line ask(const std::string& question) { return next(question); }
};

// The lines of a stream, without a byte order mark before the first; no prompts.
class StreamLines : public LineSource {
 public:
  explicit StreamLines(std::istream& in) : in_(in) {}
  Line next(const std::string& prompt) override;

 private:
  std::istream& in_;
  bool begun_ = false;
};

// The words that Tab offers for the end of a line.
using Complete = std::function<std::vector<std::string>(const std::string& line)>;

// Line editing by libedit on stdin and stdout, with a history file (history_path()) of mode 0600.
// Pasted text is inserted as it is, newlines included, and only Enter ends the line. Ctrl-C is
// Status::kInterrupted, which needs a living InterruptGuard. The terminal's settings are restored
// between lines, while the program is stopped, and by the destructor. The line is drawn again when
// the program continues and when the window changes. One at a time.
std::unique_ptr<LineSource> terminal_lines(Complete complete);

// $XDG_STATE_HOME/cascade/chat_history, else ~/.local/state/cascade/chat_history; empty if there
// is no home.
std::string history_path();

}  // namespace cascade::ctl
