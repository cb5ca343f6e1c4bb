// The place where a command prints results and errors, and what that place can show.
#pragma once

#include <ostream>

#include "base/json.h"
#include "base/result.h"
#include "clients/ctl/style.h"

namespace cascade::ctl {

struct Screen {
  std::ostream& out;
  std::ostream& err;
  Style style;  // of `out` and `err`
  // Whether `out` is a terminal: then text streams, and thoughts and progress are shown.
  bool terminal = false;
  // Whether results and errors are JSON objects on `out`, one per line.
  bool json = false;
  // The columns of a line of `err`, as Style::columns() is for `out`; nullptr: lines have no end.
  int (*err_columns)() = nullptr;
};

// The process's streams. On a terminal, lines end at the edge of the window. Colours are used if
// stdout and stderr are terminals, NO_COLOR is not set (or empty), and TERM is not "dumb".
Screen standard_screen(bool json);

// {"error": {"code": ..., "field": ..., "message": ...}}
OrderedJson json_of_error(const Error& error);

// Prints "error: not_found: id: no such chunk" on `err`, with the names of options
// (option_words.h); or, as JSON, {"error": {...}} on `out`, as the daemon said it.
void print_error(Screen& screen, const Error& error);

// Prints a note beside the result on `err`: dim, and in lines of the terminal's width.
void print_note(Screen& screen, const std::string& text);

// Prints one line. The text of JSON strings is kept, but nothing in it acts on a terminal: controls
// and bidirectional overrides are escaped.
void print_json(Screen& screen, const OrderedJson& value);
std::string dump_json(const OrderedJson& value);

}  // namespace cascade::ctl
