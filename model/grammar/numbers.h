// Automata of JSON numbers, also of those within limits.
#pragma once

#include <cstdint>
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

// The shortest decimal number that stands for this one. Precondition: is_any_number(json).
Decimal to_decimal(const OrderedJson& json);

// factor * 10^exponent, of which a number is a multiple. The factor is not a multiple of 10.
struct NumberStep {
  uint64_t factor = 1;
  int exponent = 0;
};
// Automata have a state for each remainder that a step leaves: so many at most, without factors of
// 2 and 5, which are seen from the last digits, and with them.
inline constexpr uint64_t kStepRemaindersMax = 1000, kStepFactorMax = 4096;

// Nullopt if the number is not greater than 0, or has over 18 digits.
std::optional<NumberStep> to_step(const Decimal& decimal);
// The multiples of both; nullopt if its factor would be too large for any limit.
std::optional<NumberStep> common_step(const NumberStep& a, const NumberStep& b);
bool is_within_limits(const NumberStep& step);
bool is_multiple(const Decimal& number, const NumberStep& step);

struct NumberRange {
  std::optional<Decimal> low;
  std::optional<Decimal> high;
  // Precondition: within its limits.
  std::optional<NumberStep> step;
  bool no_integers = false;
};

// < 0, 0 or > 0, whatever is exclusive.
int compare(const Decimal& a, const Decimal& b);

// A limit has at most so many digits before the point, and as many after it. A schema whose numbers
// need more is not compiled.
inline constexpr size_t kNumberDigitsMax = 100;

// Integers without exponent or "-0". They have as many digits as the upper limit has; without one,
// or with a step, at most 20, so that each of 64 bits is among them, or one more than the lower
// limit or the step.
// Precondition: no lower limit above 0 and no upper one below 0 has over kNumberDigitsMax digits.
// An upper limit of more is none.
ByteAutomaton::State add_integers(ByteAutomaton& bytes, const NumberRange& range);
// Numbers. Without limits: at most 20 digits before the point, 16 behind it, and two of an
// exponent, so that they are finite in f64. Within limits, or with a step: whole numbers as above.
// With a fraction at most 15 digits in all, which f64 tells apart, so that a number is within the
// limits also when it was rounded; or one digit more than a limit has, which is of more digits. No
// exponent.
ByteAutomaton::State add_numbers(ByteAutomaton& bytes, const NumberRange& range);

}  // namespace cascade
