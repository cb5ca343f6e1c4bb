// Numbers as Python writes and reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade::jinja {

// repr(float): the shortest text that reads back as `number`: "1.0", "1e-05", "inf".
std::string float_text(double number);

// int(text, base): whitespace around, a sign, underscores between digits; base 0 or one of 2..36
// allows a prefix ("0x"). nullopt if it is no such number.
// Errors: template_error if it does not fit 64 bits, or the base is none of these.
Result<std::optional<int64_t>> int_from_text(std::string_view text, int64_t base);

// float(text); nullopt if it is no such number.
std::optional<double> float_from_text(std::string_view text);

// int(number): without the fraction. Errors: template_error for inf, nan and beyond 64 bits.
Result<int64_t> int_from_float(double number);

}  // namespace cascade::jinja
