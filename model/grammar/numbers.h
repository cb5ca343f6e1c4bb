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

// The shortest decimal number of the same value. Precondition: is_any_number(json).
Decimal to_decimal(const OrderedJson& json);

// factor * 10^exponent, of which a number must be a multiple. The factor is not a multiple of 10.
struct NumberStep {
  uint64_t factor = 1;
  int exponent = 0;
};
// The limits of a step's factor. There are limits because automata have a state for each remainder
// of a division by the factor. The first is for the factor without its factors of 2 and 5, which
// only concern the last digits; the second is for the whole factor.
inline constexpr uint64_t kStepRemaindersMax = 1000, kStepFactorMax = 4096;

// Nullopt if the number is not greater than 0, or has over 18 digits.
std::optional<NumberStep> to_step(const Decimal& decimal);
// The step whose multiples are the multiples of both; nullopt if its factor would be too large for
// any limit.
std::optional<NumberStep> common_step(const NumberStep& a, const NumberStep& b);
bool is_within_limits(const NumberStep& step);
bool is_multiple(const Decimal& number, const NumberStep& step);

struct NumberRange {
  std::optional<Decimal> low;
  std::optional<Decimal> high;
  // Precondition: is_within_limits(*step).
  std::optional<NumberStep> step;
  bool no_integers = false;
};

// < 0, 0 or > 0; `exclusive` does not count.
int compare(const Decimal& a, const Decimal& b);

// The largest number of digits of a limit before the point, and also after it. A schema whose
// numbers need more is not compiled.
inline constexpr size_t kNumberDigitsMax = 100;

// Integers without exponent, and without "-0". They have at most as many digits as the upper limit.
// Without an upper limit, or with a step, they have at most 20 digits, so that all numbers of 64
// bits are among them, or one more than the lower limit or the step has. Precondition: no lower
// limit above 0 and no upper limit below 0 has over kNumberDigitsMax digits. An upper limit with
// more digits is ignored.
ByteAutomaton::State add_integers(ByteAutomaton& bytes, const NumberRange& range);
// Numbers. Without limits: at most 20 digits before the point, 16 after it, and two in the
// exponent, so that they are finite in f64. Within limits, or with a step, there is no exponent,
// and whole numbers are as in add_integers(). Numbers with a fraction then have at most 15 digits
// in all, which f64 tells apart, so that a number is within the limits even after rounding. If a
// limit has more than 15 digits, numbers may have one digit more than that limit.
ByteAutomaton::State add_numbers(ByteAutomaton& bytes, const NumberRange& range);

}  // namespace cascade
