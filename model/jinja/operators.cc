// The arithmetic of Python's numbers, and + and * of strings and sequences.
#include "model/jinja/operators.h"

#include <cmath>
#include <limits>
#include <string>

#include "base/checked.h"
#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/format.h"
#include "model/jinja/markup.h"

namespace cascade::jinja {
namespace {

std::string_view symbol_of(ArithmeticOp op) {
  static constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kSymbols[static_cast<size_t>(op)];
}

std::optional<double> as_real(const Value& value) {
  if (const double* number = value.real()) return *number;
  if (const auto number = as_integer(value)) return static_cast<double>(*number);
  return std::nullopt;
}

Error overflow() {
  return template_error("the result does not fit a 64-bit integer");
}
Error division_by_zero() {
  return template_error("division by zero");
}

Error wrong_types(ArithmeticOp op, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    const auto* missing = std::get_if<Undefined>(&value->storage());
    if (missing != nullptr && missing->reason) return template_error(std::string(*missing->reason));
    if (value->big_integer() != nullptr) {
      return template_error("there is no arithmetic with integers beyond 64 bits");
    }
  }
  return template_error("'" + std::string(symbol_of(op)) + "' does not work between " +
                        std::string(a.type_name()) + " and " + std::string(b.type_name()));
}

Result<Value> checked(std::optional<int64_t> number) {
  if (!number.has_value()) return overflow();
  return Value(*number);
}

std::optional<int64_t> checked_subtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
  return difference;
}

// Rounds towards minus infinity.
std::optional<int64_t> floor_divide(int64_t a, int64_t b) {
  if (b == -1) return checked_subtract(0, a);
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The result has the sign of `b`.
int64_t floor_modulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::optional<int64_t> integer_power(int64_t base, int64_t exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  std::optional<int64_t> power = 1;
  for (int64_t i = 0; i < exponent && power.has_value(); ++i) power = checked_mul(*power, base);
  return power;
}

Result<Value> real_power(double base, double exponent) {
  if (base == 0 && exponent < 0) return division_by_zero();
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) &&
      std::floor(exponent) != exponent) {
    return template_error("a negative number to a fractional power is not supported");
  }
  const double power = std::pow(base, exponent);
  if (std::isinf(power) && std::isfinite(base) && std::isfinite(exponent)) {
    return template_error("the result does not fit a double");
  }
  return Value(power);
}

Result<Value> integer_arithmetic(ArithmeticOp op, int64_t a, int64_t b) {
  const bool divides = op == ArithmeticOp::kDivide || op == ArithmeticOp::kFloorDivide ||
                       op == ArithmeticOp::kModulo;
  if (divides && b == 0) return division_by_zero();
  switch (op) {
    case ArithmeticOp::kAdd: return checked(checked_add(a, b));
    case ArithmeticOp::kSubtract: return checked(checked_subtract(a, b));
    case ArithmeticOp::kMultiply: return checked(checked_mul(a, b));
    case ArithmeticOp::kDivide:
      return Value(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    case ArithmeticOp::kFloorDivide: return checked(floor_divide(a, b));
    case ArithmeticOp::kModulo: return Value(floor_modulo(a, b));
    case ArithmeticOp::kPower:
      if (b < 0) return real_power(static_cast<double>(a), static_cast<double>(b));
      return checked(integer_power(a, b));
  }
  return overflow();
}

struct Division {
  double floored;  // the quotient, rounded towards minus infinity
  double rest;     // has the sign of the divisor, zero included
};

Division divide(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), rest};
  // `quotient` is a whole number up to rounding; take the nearest.
  const double floored = std::floor(quotient);
  return {quotient - floored > 0.5 ? floored + 1 : floored, rest};
}

Result<Value> real_arithmetic(ArithmeticOp op, double a, double b) {
  switch (op) {
    case ArithmeticOp::kAdd: return Value(a + b);
    case ArithmeticOp::kSubtract: return Value(a - b);
    case ArithmeticOp::kMultiply: return Value(a * b);
    case ArithmeticOp::kPower: return real_power(a, b);
    default: break;
  }
  if (b == 0) return division_by_zero();
  if (op == ArithmeticOp::kDivide) return Value(a / b);
  return Value(op == ArithmeticOp::kModulo ? divide(a, b).rest : divide(a, b).floored);
}

Result<Value> add_strings(Runtime& runtime, const String& a, const String& b) {
  if (a.is_markup || b.is_markup) return add_markup(runtime, a, b);
  MarkedText sum;
  sum.reserve(a.text.size() + b.text.size());
  sum.append(a.text);
  sum.append(b.text);
  return make_string(std::move(sum));
}

Result<Value> add_sequences(const Sequence& a, const Sequence& b) {
  PaidVector<Value> items;
  items.reserve(a.items.size() + b.items.size());
  items.insert(items.end(), a.items.begin(), a.items.end());
  items.insert(items.end(), b.items.begin(), b.items.end());
  return a.is_tuple ? make_tuple(std::move(items)) : make_list(std::move(items));
}

// The size of `count` copies. If it does not fit, a size so large that it exceeds every limit.
uint64_t repeated(size_t size, int64_t count) {
  if (count <= 0) return 0;
  return checked_mul<uint64_t>(size, static_cast<uint64_t>(count))
      .value_or(std::numeric_limits<uint64_t>::max());
}

Result<Value> repeat_string(Runtime& runtime, const String& string, int64_t count) {
  MarkedText text;
  if (!string.text.empty()) {
    RETURN_IF_ERROR(runtime.charge_bytes(repeated(string.text.bytes_held(), count)));
    text.reserve(repeated(string.text.size(), count));
    for (int64_t i = 0; i < count; ++i) text.append(string.text);
  }
  return string.is_markup ? make_markup(std::move(text)) : make_string(std::move(text));
}

Result<Value> repeat_sequence(Runtime& runtime, const Sequence& sequence, int64_t count) {
  RETURN_IF_ERROR(runtime.charge_items(repeated(sequence.items.size(), count)));
  PaidVector<Value> items;
  if (!sequence.items.empty()) {
    items.reserve(repeated(sequence.items.size(), count));
    for (int64_t i = 0; i < count; ++i) {
      items.insert(items.end(), sequence.items.begin(), sequence.items.end());
    }
  }
  return sequence.is_tuple ? make_tuple(std::move(items)) : make_list(std::move(items));
}

Result<Value> multiply_container(Runtime& runtime, const Value& a, const Value& b) {
  const Value& container = as_integer(a).has_value() ? b : a;
  const auto count = as_integer(as_integer(a).has_value() ? a : b);
  if (count.has_value()) {
    if (const String* string = container.string()) return repeat_string(runtime, *string, *count);
    if (const Sequence* sequence = container.sequence()) {
      return repeat_sequence(runtime, *sequence, *count);
    }
  }
  return wrong_types(ArithmeticOp::kMultiply, a, b);
}

}  // namespace

Result<Value> apply(Runtime& runtime, ArithmeticOp op, const Value& a, const Value& b) {
  const auto integer_a = as_integer(a);
  const auto integer_b = as_integer(b);
  if (integer_a.has_value() && integer_b.has_value()) {
    return integer_arithmetic(op, *integer_a, *integer_b);
  }
  const auto real_a = as_real(a);
  const auto real_b = as_real(b);
  if (real_a.has_value() && real_b.has_value()) return real_arithmetic(op, *real_a, *real_b);
  if (op == ArithmeticOp::kAdd) {
    const String* string_a = a.string();
    const String* string_b = b.string();
    if (string_a != nullptr && string_b != nullptr) {
      return add_strings(runtime, *string_a, *string_b);
    }
    const Sequence* sequence_a = a.sequence();
    const Sequence* sequence_b = b.sequence();
    if (sequence_a != nullptr && sequence_b != nullptr &&
        sequence_a->is_tuple == sequence_b->is_tuple) {
      return add_sequences(*sequence_a, *sequence_b);
    }
  }
  if (op == ArithmeticOp::kMultiply) return multiply_container(runtime, a, b);
  if (op == ArithmeticOp::kModulo && a.string() != nullptr) {
    return format_percent(runtime, *a.string(), b);
  }
  return wrong_types(op, a, b);
}

Result<Value> negate(const Value& a) {
  if (const auto number = as_integer(a)) return checked(checked_subtract(0, *number));
  if (const double* number = a.real()) return Value(-*number);
  return wrong_types(ArithmeticOp::kSubtract, Value(int64_t{0}), a);
}

Result<Value> plus(const Value& a) {
  if (const auto number = as_integer(a)) return Value(*number);
  if (a.real() != nullptr) return a;
  return wrong_types(ArithmeticOp::kAdd, Value(int64_t{0}), a);
}

}  // namespace cascade::jinja
