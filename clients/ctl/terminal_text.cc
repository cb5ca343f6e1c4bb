// Measures text by its code points.
#include "clients/ctl/terminal_text.h"

#include <utf8proc.h>

#include "base/sanitized.h"
#include "base/utf8.h"

namespace cascade::ctl {
namespace {

int width_of(uint32_t c) {
  return utf8proc_charwidth(static_cast<utf8proc_int32_t>(c));
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string out;
  bool space = false;
  for (const char c : sanitized(text)) {
    if (c == ' ' || c == '\n' || c == '\t') {
      space = !out.empty();
      continue;
    }
    if (space) out.push_back(' ');
    space = false;
    out.push_back(c);
  }
  return out;
}

int display_width(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = utf8_decode(text, i);
    i += c.size;
    width += width_of(c.value);
  }
  return width;
}

std::string fitted(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  int width = 0;
  size_t end = 0;
  while (end < text.size()) {
    const CodePoint c = utf8_decode(text, end);
    if (width + width_of(c.value) > columns - 1) break;
    width += width_of(c.value);
    end += c.size;
  }
  while (end > 0 && text[end - 1] == ' ') --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string padded(std::string_view text, int columns, bool to_the_right) {
  const int missing = columns - display_width(text);
  const std::string spaces(missing > 0 ? static_cast<size_t>(missing) : 0, ' ');
  return to_the_right ? spaces + std::string(text) : std::string(text) + spaces;
}

}  // namespace cascade::ctl
