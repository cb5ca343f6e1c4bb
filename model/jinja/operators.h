// Arithmetic operators on values.
#pragma once

#include "model/jinja/value.h"

namespace cascade::jinja {

enum class ArithmeticOp { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };

// a op b with Python's meaning: numbers (an int result that does not fit 64 bits is an error),
// + and * of strings and lists, % of a string as formatting.
// Errors: template_error for types that do not fit, division by zero, overflow; steps.
Result<Value> apply(Runtime& runtime, ArithmeticOp op, const Value& a, const Value& b);

// -a, +a. Errors: template_error if `a` is not a number, or on overflow.
Result<Value> negate(const Value& a);
Result<Value> plus(const Value& a);

}  // namespace cascade::jinja
