// Text that somebody pastes. The terminal brackets it if it was asked to (terminal_signals.h).
#pragma once

#include <string>

namespace cascade::ctl {

// The terminal sends this, then the pasted text, then ESC [201~.
inline constexpr const char* kPasteBegins = "\x1b[200~";

// Collects characters until the end of the paste.
class PastedText {
 public:
  // Takes the next character. Returns whether the paste is complete.
  bool add(wchar_t character);

  // The text so far. Its lines end with a newline, whatever the terminal sends for it (mostly a
  // carriage return), and it has no NULs.
  std::wstring text() const;

 private:
  std::wstring raw_;
};

}  // namespace cascade::ctl
