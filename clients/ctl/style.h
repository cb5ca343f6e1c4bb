// What a terminal shows: whether it has colours, and how long its lines are.
#pragma once

#include <string>
#include <string_view>

namespace cascade::ctl {

class Style {
 public:
  // `width` returns the current width of the window; nullptr: lines have no end.
  explicit Style(bool colour, int (*width)() = nullptr) : colour_(colour), width_(width) {}
  bool colour() const { return colour_; }
  // The columns of a line; 0: it has no end.
  int columns() const { return width_ != nullptr ? width_() : 0; }

  std::string dim(std::string_view text) const { return paint("2", text); }
  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string output(std::string_view text) const { return paint("32", text); }  // green
  std::string input(std::string_view text) const { return paint("36", text); }   // cyan
  std::string error(std::string_view text) const { return paint("31", text); }   // red

 private:
  std::string paint(std::string_view code, std::string_view text) const {
    if (!colour_ || text.empty()) return std::string(text);
    return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
  }

  bool colour_;
  int (*width_)();
};

}  // namespace cascade::ctl
