// Colours of a terminal, or none.
#pragma once

#include <string>
#include <string_view>

namespace cascade::ctl {

class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}
  bool colour() const { return colour_; }

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
};

}  // namespace cascade::ctl
