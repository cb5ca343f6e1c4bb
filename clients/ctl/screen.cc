// The process's streams as a Screen; errors and JSON lines.
#include "clients/ctl/screen.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "base/utf8.h"
#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {
namespace {

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_colour != nullptr && *no_colour != '\0';
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return !refused && !dumb && ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

// Characters that JSON leaves as they are and that a terminal may obey.
bool acts_on_terminal(uint32_t c) {
  return (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

Screen standard_screen(bool json) {
  return {std::cout, std::cerr, Style(wants_colour()), ::isatty(STDOUT_FILENO) == 1, json};
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
  screen.err << screen.style.error("error:") << " " << one_line(error.to_string()) << std::endl;
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
