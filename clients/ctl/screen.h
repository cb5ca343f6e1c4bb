// Where a command prints: its results, its errors, and what the reader can show.
#pragma once

#include <ostream>

#include "base/json.h"
#include "base/result.h"
#include "clients/ctl/style.h"

namespace cascade::ctl {

struct Screen {
  std::ostream& out;
  std::ostream& err;
  Style style;  // of both
  // `out` is a terminal: text streams, thoughts and progress are shown.
  bool terminal = false;
  // Results and errors are JSON objects on `out`, one a line.
  bool json = false;
  // Columns of a line of `err`, as Style::columns() are of `out`; nullptr: it has no end.
  int (*err_columns)() = nullptr;
};

// The process's streams; lines of those that are terminals end at the window. Colours if stdout and
// stderr are terminals, NO_COLOR is not set (or empty) and TERM is not "dumb".
Screen standard_screen(bool json);

// {"error": {"code": ..., "field": ..., "message": ...}}
OrderedJson json_of_error(const Error& error);

// "error: not_found: id: no such chunk" on `err`, in the words of options (option_words.h); or
// {"error": {...}} on `out`, as the daemon said it.
void print_error(Screen& screen, const Error& error);

// Something beside the result, on `err`: dim, and in lines of the terminal's width.
void print_note(Screen& screen, const std::string& text);

// One line. The text of JSON strings is kept, and nothing in it acts on a terminal: controls and
// bidirectional overrides are escaped.
void print_json(Screen& screen, const OrderedJson& value);
std::string dump_json(const OrderedJson& value);

}  // namespace cascade::ctl
