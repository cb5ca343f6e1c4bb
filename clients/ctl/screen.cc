// The process's streams as a Screen, and how errors and JSON lines are printed.
#include "clients/ctl/screen.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "base/utf8.h"
#include "clients/ctl/option_words.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/terminal_window.h"
#include "clients/ctl/word_wrap.h"

namespace cascade::ctl {
namespace {

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const bool refused = no_colour != nullptr && *no_colour != '\0';
  return !refused && obeys_escapes() && ::isatty(STDOUT_FILENO) == 1 &&
         ::isatty(STDERR_FILENO) == 1;
}

// Whether JSON leaves the character as it is although a terminal may obey it.
bool acts_on_terminal(uint32_t c) {
  return (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

int err_columns(const Screen& screen) {
  return screen.err_columns != nullptr ? screen.err_columns() : 0;
}

}  // namespace

Screen standard_screen(bool json) {
  return {
      std::cout, std::cerr,     Style(wants_colour(), stdout_columns), ::isatty(STDOUT_FILENO) == 1,
      json,      stderr_columns};
}

OrderedJson json_of_error(const Error& error) {
  OrderedJson value;
  value["error"]["code"] = to_string(error.code);
  value["error"]["field"] = error.field;
  value["error"]["message"] = error.message;
  return value;
}

void print_error(Screen& screen, const Error& error) {
  if (screen.json) return print_json(screen, json_of_error(error));
  screen.out.flush();
  const std::string_view mark = "error:";
  const std::string line =
      std::string(mark) + " " + one_line(in_words_of_options(error).to_string());
  const std::string shown = wrapped(line, err_columns(screen));
  screen.err << screen.style.error(mark) << shown.substr(mark.size()) << std::endl;
}

void print_note(Screen& screen, const std::string& text) {
  screen.err << screen.style.dim(wrapped(one_line(text), err_columns(screen))) << std::endl;
}

std::string dump_json(const OrderedJson& value) {
  const std::string text = value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = utf8_decode(text, i);
    if (acts_on_terminal(c.value)) {
      std::array<char, 8> escape{};
      (void)std::snprintf(escape.data(), escape.size(), "\\u%04x", c.value);
      out += escape.data();
    } else {
      out.append(text, i, c.size);
    }
    i += c.size;
  }
  return out;
}

void print_json(Screen& screen, const OrderedJson& value) {
  screen.out << dump_json(value) << std::endl;
}

}  // namespace cascade::ctl
