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

// int(text, base): `text` may have whitespace around it, a sign, and underscores between digits.
// `base` is 0 or in 2..36, and a prefix ("0x") may name it. nullopt if `text` is not such a number.
// Errors: template_error if the number does not fit 64 bits, or for any other base.
Result<std::optional<int64_t>> int_from_text(std::string_view text, int64_t base);

// float(text); nullopt if `text` is not such a number.
std::optional<double> float_from_text(std::string_view text);

// int(number): without the fraction. Errors: template_error for inf, nan and beyond 64 bits.
Result<int64_t> int_from_float(double number);

}  // namespace cascade::jinja
