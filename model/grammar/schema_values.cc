// Limits of several schemas at once, and whether a given value is within them.
#include "model/grammar/schema_values.h"

#include <algorithm>

#include "base/exact_number.h"
#include "model/grammar/schema_choices.h"
#include "model/grammar/schema_keywords.h"

namespace cascade {
namespace {

using namespace schema_types;

using Values = std::vector<OrderedJson>;

void tighten(std::optional<Decimal>& limit, Decimal other, int direction) {
  const int difference = limit ? compare(other, *limit) * direction : 1;
  if (difference > 0 || (difference == 0 && other.exclusive)) limit = std::move(other);
}

bool within(const Decimal& number, const NumberRange& range) {
  if (range.low) {
    const int difference = compare(number, *range.low);
    if (difference < 0 || (difference == 0 && range.low->exclusive)) return false;
  }
  if (!range.high) return true;
  const int difference = compare(number, *range.high);
  return difference < 0 || (difference == 0 && !range.high->exclusive);
}

Decimal as_limit(const OrderedJson& value, bool exclusive) {
  Decimal decimal = to_decimal(value);
  decimal.exclusive = exclusive;
  return decimal;
}

// The name of a limit's keyword, and of the keyword that leaves out the limit itself. In drafts
// before 6, "exclusive..." is true or false and is about the other keyword.
struct Bound {
  const char* name;
  const char* exclusively;
};
constexpr Bound kLow = {"minimum", "exclusiveMinimum"}, kHigh = {"maximum", "exclusiveMaximum"};

bool is_exclusive(const OrderedJson& schema, const Bound& bound) {
  const OrderedJson* said = keyword(schema, bound.exclusively);
  return said != nullptr && *said == true;
}

void add_limits(const OrderedJson& schema, NumberRange& range) {
  const auto add = [&](const Bound& bound, std::optional<Decimal>& limit, int direction) {
    if (const OrderedJson* value = keyword(schema, bound.name)) {
      tighten(limit, as_limit(*value, is_exclusive(schema, bound)), direction);
    }
    const OrderedJson* value = keyword(schema, bound.exclusively);
    if (value != nullptr && is_any_number(*value))
      tighten(limit, as_limit(*value, true), direction);
  };
  add(kLow, range.low, 1);
  add(kHigh, range.high, -1);
}

// Denying a minimum demands a number below the minimum, and denying a maximum one above the
// maximum.
void add_denied_limit(const Denial& denial, NumberRange& range) {
  const OrderedJson& schema = *denial.schema;
  const auto value = [&] { return *keyword(schema, std::string(denial.keyword).c_str()); };
  if (denial.keyword == kLow.name) {
    tighten(range.high, as_limit(value(), !is_exclusive(schema, kLow)), -1);
  } else if (denial.keyword == kLow.exclusively) {
    tighten(range.high, as_limit(value(), false), -1);
  } else if (denial.keyword == kHigh.name) {
    tighten(range.low, as_limit(value(), !is_exclusive(schema, kHigh)), 1);
  } else if (denial.keyword == kHigh.exclusively) {
    tighten(range.low, as_limit(value(), false), 1);
  }
}

// The values that const or enum list.
Values values_in(const OrderedJson& schema, std::string_view name) {
  const OrderedJson& value = *keyword(schema, std::string(name).c_str());
  return name == "const" ? Values{value} : Values(value.begin(), value.end());
}

Values denied_values(const Conjunction& conjunction) {
  Values all;
  for (const Denial& denial : conjunction.denials) {
    if (denial.keyword != "const" && denial.keyword != "enum") continue;
    for (OrderedJson& value : values_in(*denial.schema, denial.keyword)) {
      all.push_back(std::move(value));
    }
  }
  return all;
}

bool is_among(const OrderedJson& value, const Values& values) {
  return std::ranges::any_of(values,
                             [&](const OrderedJson& other) { return same_value(value, other); });
}

// How many integers between limits to check; other keywords may leave only a few of them.
constexpr int64_t kLookedAtMax = 100'000;
// The largest number of digits of limits between which integers are checked, so that the difference
// of the limits fits 64 bits.
constexpr size_t kFewDigitsMax = 18;

constexpr const char* kOfObjectsAndArrays[] = {
    "properties",        "required",      "additionalProperties",
    "patternProperties", "propertyNames", "minProperties",
    "maxProperties",     "prefixItems",   "items",
    "additionalItems",   "minItems",      "maxItems",
    "uniqueItems"};

}  // namespace

Error SchemaValues::step_error(const OrderedJson& schema) const {
  return document_.error(schema, "multipleOf",
                         "has too many digits: without zeros at its ends the limit is " +
                             std::to_string(kStepFactorMax) + ", and without factors of 2 and 5 " +
                             std::to_string(kStepRemaindersMax) +
                             "; round it, or describe the numbers in another way");
}

Result<std::optional<NumberStep>> SchemaValues::step(const Conjunction& conjunction) {
  std::optional<NumberStep> all;
  for (const SchemaPart& part : conjunction.parts) {
    const OrderedJson* value = keyword(*part.schema, "multipleOf");
    if (value == nullptr) continue;
    std::optional<NumberStep> own = to_step(to_decimal(*value));
    if (own && all) own = common_step(*all, *own);
    if (!own || !is_within_limits(*own)) return step_error(*part.schema);
    all = own;
  }
  return all;
}

// Numbers above a positive lower limit have at least as many digits as the limit. The same is true
// of numbers below a negative upper limit.
Status SchemaValues::check_digits(const NumberRange& range) const {
  const auto is_too_long = [](const std::optional<Decimal>& limit, bool negative) {
    return limit && limit->negative == negative && limit->whole.size() > kNumberDigitsMax;
  };
  if (!is_too_long(range.low, false) && !is_too_long(range.high, true)) return {};
  return document_.error(document_.entered(), "",
                         "its limits leave only numbers of more digits than the limit of " +
                             std::to_string(kNumberDigitsMax));
}

Result<std::vector<NumberRange>> SchemaValues::numbers(const Conjunction& conjunction) {
  NumberRange range;
  for (const SchemaPart& part : conjunction.parts) add_limits(*part.schema, range);
  for (const Denial& denial : conjunction.denials) add_denied_limit(denial, range);
  RETURN_IF_ERROR(check_digits(range));
  ASSIGN_OR_RETURN(range.step, step(conjunction));
  const uint32_t types = types_of(conjunction).value_or(kAll);
  range.no_integers = (types & kInteger) == 0;
  std::vector<Decimal> denied;
  for (const OrderedJson& value : denied_values(conjunction)) {
    if (is_any_number(value) && within(to_decimal(value), range))
      denied.push_back(as_limit(value, true));
  }
  if (denied.size() > kDeniedNumbersMax) {
    return document_.error(
        document_.entered(), "not",
        "denies more numbers than the limit of " + std::to_string(kDeniedNumbersMax));
  }
  std::ranges::sort(denied, [](const Decimal& a, const Decimal& b) { return compare(a, b) < 0; });
  std::vector<NumberRange> pieces;
  for (const Decimal& number : denied) {
    NumberRange& below = pieces.emplace_back(range);
    below.high = number;
    range.low = number;
  }
  pieces.push_back(std::move(range));
  return pieces;
}

Result<bool> SchemaValues::holds(const OrderedJson& value, const OrderedJson& schema) {
  RETURN_IF_ERROR(document_.spend(10 + schema.size()));
  if (const auto types = stated_types(schema); types && (*types & type_of(value)) == 0)
    return false;
  for (const char* name : {"const", "enum"}) {
    if (keyword(schema, name) == nullptr) continue;
    const Values values = values_in(schema, name);
    RETURN_IF_ERROR(document_.spend(values.size()));
    if (!is_among(value, values)) return false;
  }
  if (value.is_string()) return texts_.holds(value.get_ref<const std::string&>(), schema);
  if (is_any_number(value)) {
    NumberRange range;
    add_limits(schema, range);
    const Decimal number = to_decimal(value);
    if (!within(number, range)) return false;
    const OrderedJson* given = keyword(schema, "multipleOf");
    if (given == nullptr) return true;
    const std::optional<NumberStep> step = to_step(to_decimal(*given));
    if (!step) return step_error(schema);
    return is_multiple(number, *step);
  }
  if (!value.is_structured()) return true;
  for (const char* name : kOfObjectsAndArrays) {
    if (keyword(schema, name) == nullptr) continue;
    return document_.error(schema, name, "beside a listed object or array is not supported");
  }
  return true;
}

// Whether a listed value satisfies a denial.
Result<bool> SchemaValues::denies(const OrderedJson& value, const Denial& denial) {
  const OrderedJson& schema = *denial.schema;
  RETURN_IF_ERROR(document_.spend(10));
  if (denial.keyword == "type") return (*stated_types(schema) & type_of(value)) == 0;
  if (denial.keyword == "const" || denial.keyword == "enum") {
    return !is_among(value, values_in(schema, denial.keyword));
  }
  if ((types_spoken_of(denial.keyword) & type_of(value)) == 0) return false;
  if (value.is_string()) return texts_.denies(value.get_ref<const std::string&>(), denial);
  if (is_any_number(value)) {
    NumberRange range;
    add_denied_limit(denial, range);
    return within(to_decimal(value), range);
  }
  if (denial.keyword == "required") {
    return !value.contains((*keyword(schema, "required"))[denial.index].get<std::string>());
  }
  return document_.error(schema, denial.keyword,
                         "cannot be denied beside a listed object or array");
}

Result<std::optional<Values>> SchemaValues::listed(const Conjunction& conjunction) {
  std::optional<Values> candidates;
  for (const char* name : {"const", "enum"}) {
    for (const SchemaPart& part : conjunction.parts) {
      if (candidates || keyword(*part.schema, name) == nullptr) continue;
      candidates = values_in(*part.schema, name);
    }
  }
  if (!candidates) return candidates;
  const uint32_t types = types_of(conjunction).value_or(kAll);
  Values values;
  for (OrderedJson& value : *candidates) {
    bool all = (type_of(value) & types) != 0;
    for (size_t i = 0; i < conjunction.parts.size() && all; ++i) {
      ASSIGN_OR_RETURN(all, holds(value, *conjunction.parts[i].schema));
    }
    for (size_t i = 0; i < conjunction.denials.size() && all; ++i) {
      ASSIGN_OR_RETURN(all, denies(value, conjunction.denials[i]));
    }
    if (all) values.push_back(std::move(value));
  }
  return std::optional(std::move(values));
}

Values SchemaValues::constants(const Conjunction& conjunction, uint32_t types) const {
  const Values denied = denied_values(conjunction);
  Values values;
  for (const OrderedJson& value : Values{true, false, nullptr}) {
    if ((type_of(value) & types) != 0 && !is_among(value, denied)) values.push_back(value);
  }
  return values;
}

// few_values() of a conjunction without choices.
Result<std::optional<Values>> SchemaValues::few_plain(const Conjunction& conjunction) {
  ASSIGN_OR_RETURN(auto values, listed(conjunction));
  if (values) return values;
  const auto types = types_of(conjunction);
  if (!types || (*types & (kString | kArray | kObject | kFraction)) != 0) {
    return std::optional<Values>();
  }
  values = constants(conjunction, *types);
  if ((*types & kInteger) == 0) return values;
  ASSIGN_OR_RETURN(const std::vector<NumberRange> ranges, numbers(conjunction));
  for (const NumberRange& range : ranges) {
    if (!range.low || !range.high || range.low->whole.size() > kFewDigitsMax ||
        range.high->whole.size() > kFewDigitsMax) {
      return std::optional<Values>();
    }
    const auto whole = [](const Decimal& limit) {
      const int64_t number = std::stoll(limit.whole);
      return limit.negative ? -number : number;
    };
    // The whole part of a fraction is the next integer towards 0, so the range is widened by one on
    // each side.
    const int64_t low = whole(*range.low) - 1, high = whole(*range.high) + 1;
    if (high - low > kLookedAtMax) return std::optional<Values>();
    for (int64_t i = low; i <= high; ++i) {
      const Decimal number = to_decimal(OrderedJson(i));
      if (!within(number, range) || (range.step && !is_multiple(number, *range.step))) continue;
      values->emplace_back(i);
      if (values->size() > kFewValuesMax) return std::optional<Values>();
    }
    RETURN_IF_ERROR(document_.spend(static_cast<size_t>(high - low + 1) * 20));
  }
  return values;
}

Result<std::optional<Values>> SchemaValues::few_values(const Conjunction& conjunction) {
  Values all;
  std::vector<Conjunction> left = {conjunction};
  while (!left.empty()) {
    RETURN_IF_ERROR(document_.spend(100));
    ASSIGN_OR_RETURN(const auto expanded, document_.expand(left.back()));
    left.pop_back();
    if (!expanded) continue;
    ASSIGN_OR_RETURN(auto choices, first_choice(document_, *expanded));
    if (choices) {
      // The first choice must be on top of the stack.
      left.insert(left.end(), choices->rbegin(), choices->rend());
      continue;
    }
    ASSIGN_OR_RETURN(auto values, few_plain(*expanded));
    if (!values) return values;
    RETURN_IF_ERROR(document_.spend(all.size() * values->size()));
    for (OrderedJson& value : *values) {
      if (!is_among(value, all)) all.push_back(std::move(value));
    }
    if (all.size() > kFewValuesMax) return std::optional<Values>();
  }
  return std::optional(std::move(all));
}

}  // namespace cascade
