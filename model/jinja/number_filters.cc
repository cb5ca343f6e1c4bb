// Filters that give numbers: abs, int, float, round.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/checked.h"
#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/filters.h"
#include "model/jinja/number.h"
#include "model/jinja/operators.h"

namespace cascade::jinja {
namespace {

// The steps for printing a number with up to 632 digits.
constexpr uint64_t kFilterPrintingSteps = 100;

Error undefined_number(const Value& subject) {
  const auto& missing = std::get<Undefined>(subject.storage());
  return template_error(missing.reason ? std::string(*missing.reason) : "the value is undefined");
}

Error too_large() {
  return template_error("the result does not fit a 64-bit integer");
}

Error not_a_number(const Value& subject) {
  if (subject.big_integer() != nullptr) {
    return template_error("does not work with integers beyond 64 bits");
  }
  return template_error("needs a number, not " + std::string(subject.type_name()));
}

Result<Value> abs(Runtime&, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  if (subject.is_undefined()) return undefined_number(subject);
  if (const double* number = subject.real()) return Value(std::fabs(*number));
  if (const int64_t* number = subject.integer()) return *number < 0 ? negate(subject) : subject;
  if (subject.boolean() != nullptr) return plus(subject);
  return not_a_number(subject);
}

// int(): gives the default for what is not a number. A text may be a float ("42.7" gives 42).
Result<Value> to_int(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"default", "base"}));
  ASSIGN_OR_RETURN(const int64_t base, parameters.integer(1, 10));
  const Value fallback = parameters.get(0) != nullptr ? *parameters.get(0) : Value(int64_t{0});
  RETURN_IF_ERROR(charge_reading(runtime, subject));
  if (subject.is_undefined()) return undefined_number(subject);
  if (const auto whole = as_integer(subject)) return Value(*whole);
  if (subject.big_integer() != nullptr) return subject;
  std::optional<double> real;
  if (const double* number = subject.real()) real = *number;
  if (const MarkedText* text = subject.text()) {
    ASSIGN_OR_RETURN(const auto whole, int_from_text(text->view(), base));
    if (whole.has_value()) return Value(*whole);
    real = float_from_text(text->view());
  }
  if (!real.has_value() || !std::isfinite(*real)) return fallback;
  ASSIGN_OR_RETURN(const int64_t whole, int_from_float(*real));
  return Value(whole);
}

Result<Value> to_float(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"default"}));
  RETURN_IF_ERROR(charge_reading(runtime, subject));
  if (subject.is_undefined()) return undefined_number(subject);
  if (const auto number = as_number(subject)) return Value(static_cast<double>(*number));
  if (const BigInteger* number = subject.big_integer()) {
    return Value(std::strtod(number->digits.c_str(), nullptr));
  }
  std::optional<double> number;
  if (const MarkedText* text = subject.text()) number = float_from_text(text->view());
  if (number.has_value()) return Value(*number);
  return parameters.get(0) != nullptr ? *parameters.get(0) : Value(0.0);
}

// The multiple of 10^places nearest to `number`, half to even.
Result<Value> round_integer(int64_t number, int64_t places) {
  constexpr int64_t kPlacesMax = 18;  // the largest power of ten in 64 bits
  if (places > kPlacesMax) {
    constexpr int64_t kHalfOf19Places = 5'000'000'000'000'000'000;
    const bool rounds_away = number > kHalfOf19Places || number < -kHalfOf19Places;
    if (places == kPlacesMax + 1 && rounds_away) return too_large();
    return Value(int64_t{0});
  }
  int64_t unit = 1;
  for (int64_t i = 0; i < places; ++i) unit *= 10;
  int64_t quotient = number / unit;
  const int64_t rest = std::abs(number % unit);
  if (rest > unit - rest || (rest == unit - rest && quotient % 2 != 0)) {
    quotient += number < 0 ? -1 : 1;
  }
  const auto rounded = checked_mul(quotient, unit);
  if (!rounded.has_value()) return too_large();
  return Value(*rounded);
}

// The double nearest to `number` rounded to `digits` decimal places, half to even.
double round_real(double number, int64_t digits) {
  // Beyond these limits, a double has no digits to round, or nothing is left of it.
  if (!std::isfinite(number) || digits > 323) return number;
  if (digits < -308) return std::copysign(0.0, number);
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(number / unit) * unit;
  }
  char buffer[1024];  // 309 digits before the point and 323 after it
  std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), number);
  return float_from_text(buffer).value_or(number);
}

Result<Value> round(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"precision", "method"}));
  ASSIGN_OR_RETURN(const int64_t digits, parameters.integer(0, 0));
  ASSIGN_OR_RETURN(const MarkedText* method_text, parameters.text(1));
  const std::string_view method = method_text == nullptr ? "common" : method_text->view();
  RETURN_IF_ERROR(runtime.charge(kFilterPrintingSteps));
  if (method != "common" && method != "ceil" && method != "floor") {
    return template_error("the method must be common, ceil or floor");
  }
  if (subject.is_undefined()) return undefined_number(subject);
  const auto number = as_number(subject);
  if (!number.has_value()) return not_a_number(subject);
  if (method == "common") {
    if (subject.real() != nullptr) return Value(round_real(*subject.real(), digits));
    const int64_t whole = as_integer(subject).value_or(0);
    return digits >= 0 ? Value(whole) : round_integer(whole, digits < -20 ? 20 : -digits);
  }
  const double unit = std::pow(10.0, static_cast<double>(digits));
  const double scaled = static_cast<double>(*number) * unit;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

constexpr std::array kNumberFilters = {
    Filter{"abs", abs},
    Filter{"float", to_float},
    Filter{"int", to_int},
    Filter{"round", round},
};

}  // namespace

std::span<const Filter> number_filters() {
  return kNumberFilters;
}

}  // namespace cascade::jinja
