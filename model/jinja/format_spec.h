// One formatted field: the common part of "%5.2f" and "{:>5.2f}".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/jinja/value.h"

namespace cascade::jinja {

// These limits bound the work per field. No template needs longer fields or more digits.
inline constexpr int64_t kFieldWidthMax = 1 << 20;
inline constexpr int64_t kFieldPrecisionMax = 300;

struct FormatSpec {
  std::string fill = " ";
  char align = '\0';       // '<', '>', '^', '=' (zeros after the sign); '\0': the type's default
  char sign = '-';         // '+', ' ' or '-'
  bool alternate = false;  // "0x" before the digits
  char grouping = '\0';    // ',' or '_' between groups of three digits
  int64_t width = 0;
  std::optional<int64_t> precision;
  char type = '\0';
};

// The text between ':' and '}' of a field. Errors: template_error if malformed or beyond a limit.
Result<FormatSpec> parse_format_spec(std::string_view text);

// Reads decimal digits at `pos`; nullopt if there are none.
// Errors: template_error naming `what` above `max`.
Result<std::optional<int64_t>> read_count(std::string_view text, size_t& pos, std::string_view what,
                                          int64_t max);

// Each function gives the field, padded. Padding is untrusted; copied characters keep their marks.
// Errors: template_error if the type letter does not fit; steps.
Result<MarkedText> format_string(Runtime& runtime, const MarkedText& text, const FormatSpec& spec);
Result<MarkedText> format_integer(Runtime& runtime, int64_t number, const FormatSpec& spec);
Result<MarkedText> format_real(Runtime& runtime, double number, const FormatSpec& spec);

// `text` in a field of `width` characters. `align`: '<', '>' or '^' (an odd padding character goes
// to the right).
Result<MarkedText> padded(Runtime& runtime, const MarkedText& text, std::string_view fill,
                          char align, int64_t width);

}  // namespace cascade::jinja
