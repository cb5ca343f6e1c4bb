// The tests that templates may use.
#include "model/jinja/tests.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/filters.h"
#include "model/jinja/methods.h"
#include "model/jinja/operators.h"
#include "model/jinja/print.h"

namespace cascade::jinja {
namespace {

using Predicate = bool (*)(const Value&);

// A test of the value alone.
template <Predicate kPredicate>
Result<bool> plain(Runtime&, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  return kPredicate(subject);
}

bool is_defined(const Value& value) {
  return !value.is_undefined();
}
bool is_undefined(const Value& value) {
  return value.is_undefined();
}
bool is_none(const Value& value) {
  return value.is_none();
}
bool is_boolean(const Value& value) {
  return value.boolean() != nullptr;
}
bool is_true(const Value& value) {
  return value.boolean() != nullptr && *value.boolean();
}
bool is_false(const Value& value) {
  return value.boolean() != nullptr && !*value.boolean();
}
bool is_integer(const Value& value) {
  return value.integer() != nullptr || value.big_integer() != nullptr;
}
bool is_float(const Value& value) {
  return value.real() != nullptr;
}
bool is_number(const Value& value) {
  return as_number(value).has_value() || value.big_integer() != nullptr;
}
bool is_string(const Value& value) {
  return value.string() != nullptr;
}
bool is_mapping(const Value& value) {
  return value.dict() != nullptr;
}
bool is_escaped(const Value& value) {
  return is_string(value) && value.string()->is_markup;
}

// Whether the value has a length and can be indexed; Jinja's undefined has both.
bool is_sequence(const Value& value) {
  return value.is_undefined() || is_string(value) || value.sequence() != nullptr ||
         value.dict() != nullptr || value.range() != nullptr;
}

bool is_iterable(const Value& value) {
  return is_sequence(value) || value.dict_view() != nullptr || value.iterator() != nullptr ||
         value.loop() != nullptr;
}

bool is_callable(const Value& value) {
  return value.is_undefined() || value.function() != nullptr || value.macro() != nullptr ||
         value.bound_method() != nullptr || value.loop() != nullptr;
}

// Whether the subject, as text, is entirely in lower case, or, without kLower, in upper case.
template <bool kLower>
Result<bool> is_of_case(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(MarkedText text, to_text(runtime, subject));
  const Value string = make_string(std::move(text));
  const Method* method = find_method(string, kLower ? "islower" : "isupper");
  ASSIGN_OR_RETURN(const Value result, method->call(runtime, string, arguments));
  return result.is_true();
}

Result<bool> remainder_is(Runtime& runtime, const Value& subject, const Value& divisor,
                          int64_t remainder) {
  ASSIGN_OR_RETURN(const Value rest, apply(runtime, ArithmeticOp::kModulo, subject, divisor));
  return equals(runtime, rest, Value(remainder));
}

template <int64_t kRemainder>
Result<bool> parity(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  return remainder_is(runtime, subject, Value(int64_t{2}), kRemainder);
}

Result<bool> divisible_by(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"num"}, 1));
  return remainder_is(runtime, subject, parameters[0], 0);
}

template <bool kEqual>
Result<bool> equal(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"other"}, 1));
  ASSIGN_OR_RETURN(const bool same, equals(runtime, subject, parameters[0]));
  return same == kEqual;
}

// subject < other, subject <= other, and the same with the sides swapped.
template <bool kSwapped, bool kOrEqual>
Result<bool> ordered(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"other"}, 1));
  const Value& low = kSwapped ? parameters[0] : subject;
  const Value& high = kSwapped ? subject : parameters[0];
  ASSIGN_OR_RETURN(const bool is_less, less(runtime, low, high));
  if (is_less || !kOrEqual) return is_less;
  return equals(runtime, low, high);
}

Result<bool> in(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"seq"}, 1));
  return contains(runtime, parameters[0], subject);
}

// Identity. In Python, two equal numbers or strings may or may not be one object, so there is no
// answer for them.
Result<bool> same_as(Runtime&, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"other"}, 1));
  const Value& other = parameters[0];
  if (subject.storage().index() != other.storage().index()) return false;
  if (is_none(subject)) return true;
  if (is_boolean(subject)) return is_true(subject) == is_true(other);
  return template_error("is supported for true, false and none only");
}

template <class Found>
Result<bool> names_known(const Value& subject, const Arguments& arguments, Found find) {
  RETURN_IF_ERROR(bind(arguments, {}));
  const MarkedText* name = subject.text();
  return name != nullptr && find(name->view()) != nullptr;
}

Result<bool> is_filter(Runtime&, const Value& subject, const Arguments& arguments) {
  return names_known(subject, arguments, find_filter);
}

Result<bool> is_test(Runtime&, const Value& subject, const Arguments& arguments) {
  return names_known(subject, arguments, find_test);
}

constexpr std::array kTests = {
    Test{"!=", equal<false>},
    Test{"<", ordered<false, false>},
    Test{"<=", ordered<false, true>},
    Test{"==", equal<true>},
    Test{">", ordered<true, false>},
    Test{">=", ordered<true, true>},
    Test{"boolean", plain<is_boolean>},
    Test{"callable", plain<is_callable>},
    Test{"defined", plain<is_defined>},
    Test{"divisibleby", divisible_by},
    Test{"eq", equal<true>},
    Test{"equalto", equal<true>},
    Test{"escaped", plain<is_escaped>},
    Test{"even", parity<0>},
    Test{"false", plain<is_false>},
    Test{"filter", is_filter},
    Test{"float", plain<is_float>},
    Test{"ge", ordered<true, true>},
    Test{"greaterthan", ordered<true, false>},
    Test{"gt", ordered<true, false>},
    Test{"in", in},
    Test{"integer", plain<is_integer>},
    Test{"iterable", plain<is_iterable>},
    Test{"le", ordered<false, true>},
    Test{"lessthan", ordered<false, false>},
    Test{"lower", is_of_case<true>},
    Test{"lt", ordered<false, false>},
    Test{"mapping", plain<is_mapping>},
    Test{"ne", equal<false>},
    Test{"none", plain<is_none>},
    Test{"number", plain<is_number>},
    Test{"odd", parity<1>},
    Test{"sameas", same_as},
    Test{"sequence", plain<is_sequence>},
    Test{"string", plain<is_string>},
    Test{"test", is_test},
    Test{"true", plain<is_true>},
    Test{"undefined", plain<is_undefined>},
    Test{"upper", is_of_case<false>},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto found = std::ranges::find(kTests, name, &Test::name);
  return found == kTests.end() ? nullptr : &*found;
}

Result<bool> apply_test(Runtime& runtime, const Test& test, const Value& subject,
                        const Arguments& arguments) {
  RETURN_IF_ERROR(runtime.charge(1));
  auto result = runtime.within_steps([&] { return test.holds(runtime, subject, arguments); });
  if (result.ok() || !result.error().field.empty()) return result;
  Error error = std::move(result).error();
  error.message = "test '" + std::string(test.name) + "': " + error.message;
  return error;
}

}  // namespace cascade::jinja
