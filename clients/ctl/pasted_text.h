// What a terminal sends when somebody pastes: bracketed, if it was asked to (terminal_signals.h).
#pragma once

#include <string>

namespace cascade::ctl {

// The terminal sends this, what is pasted, and ESC [201~.
inline constexpr const char* kPasteBegins = "\x1b[200~";

// Collects characters until the end of the paste.
class PastedText {
 public:
  // Takes the next one. Returns whether the paste is complete.
  bool add(wchar_t character);

  // As far as it has come: lines end with a newline, whatever the terminal sends for it (mostly a
  // carriage return), and there are no NULs.
  std::wstring text() const;

 private:
  std::wstring raw_;
};

}  // namespace cascade::ctl
