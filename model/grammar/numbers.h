// Automata of JSON numbers, also of those within limits.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "model/grammar/byte_automaton.h"

namespace cascade {

// A decimal number without exponent: "-" whole "." fraction.
struct Decimal {
  bool negative = false;
  std::string whole = "0";  // without leading zeros
  std::string fraction;     // without trailing zeros
  bool exclusive = false;   // as a limit
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};

// The shortest decimal number that stands for this one. Precondition: json.is_number().
Decimal to_decimal(const OrderedJson& json);

struct NumberRange {
  std::optional<Decimal> low;
  std::optional<Decimal> high;
};

// Integers of at most 18 digits, so that every reader holds them; without exponent or "-0".
ByteAutomaton::State add_integers(ByteAutomaton& bytes, const NumberRange& range);
// Numbers. Without limits: at most 18 digits before the point, 16 behind it, and two of an
// exponent, so that they are finite in f64. Within limits: at most 15 digits in all, which f64
// tells apart, so that a number is within the limits also when it was rounded; no exponent.
ByteAutomaton::State add_numbers(ByteAutomaton& bytes, const NumberRange& range);

}  // namespace cascade
