// Chat input of several lines between """ and """.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cascade::ctl {

// Takes lines one by one and gives whole entries. `"""` opens a block at the start of a line or
// after a command (`/system """`), and closes it at the end of a line.
class TextBlock {
 public:
  // The entry that `line` completes; nothing if a block is open after it. If a block is not a
  // command's argument and begins with "/", the entry begins with "//", so that it is read as text.
  std::optional<std::string> feed(std::string_view line);

  // Whether a block is open, so that more lines are needed.
  bool open() const { return open_; }
  // Forgets an open block.
  void reset();

 private:
  std::optional<std::string> add(std::string_view line);

  bool open_ = false;
  std::string command_;  // with its space, or empty
  std::string text_;
};

}  // namespace cascade::ctl
