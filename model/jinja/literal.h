// Number and string literals of a template, as Python and Jinja read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade::jinja {

struct NumberLiteral {
  bool is_float = false;
  int64_t integer = 0;
  double number = 0;
  size_t size = 0;  // bytes of the source
};

// The longest number at the beginning of `source`. With `after_dot`, a dot precedes the number, so
// it is an index ("a.1.2") and never a float. Precondition: `source` begins with an ASCII digit.
// Errors: template_error if the number does not fit 64 bits or a double.
Result<NumberLiteral> read_number(std::string_view source, bool after_dot);

// The value of a string literal whose text between the quotes is `body`. Unknown escapes stay as
// they are. Errors: template_error for \N{...}, broken \x, \u, \U, and surrogates.
Result<std::string> unescape_string(std::string_view body);

}  // namespace cascade::jinja
