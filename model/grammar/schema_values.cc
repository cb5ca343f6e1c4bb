// Limits of several schemas at once, and whether a given value is within them.
#include "model/grammar/schema_values.h"

#include <algorithm>

#include "model/grammar/formats.h"
#include "model/grammar/pattern.h"
#include "model/grammar/schema_keywords.h"

namespace cascade {
namespace {

// < 0, 0 or > 0, whatever is exclusive.
int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  const auto magnitude = [&] {
    if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
    // Fractions without trailing zeros compare as texts do.
    const int whole = a.whole.compare(b.whole);
    return whole != 0 ? whole : a.fraction.compare(b.fraction);
  }();
  return a.negative ? -magnitude : magnitude;
}

void tighten(std::optional<Decimal>& limit, Decimal other, int direction) {
  const int difference = limit ? compare(other, *limit) * direction : 1;
  if (difference > 0 || (difference == 0 && other.exclusive)) limit = std::move(other);
}

bool within(const OrderedJson& value, const NumberRange& range) {
  const Decimal number = to_decimal(value);
  if (range.low) {
    const int difference = compare(number, *range.low);
    if (difference < 0 || (difference == 0 && range.low->exclusive)) return false;
  }
  if (!range.high) return true;
  const int difference = compare(number, *range.high);
  return difference < 0 || (difference == 0 && !range.high->exclusive);
}

constexpr const char* kOfObjectsAndArrays[] = {"properties",  "required", "additionalProperties",
                                               "prefixItems", "items",    "additionalItems",
                                               "minItems",    "maxItems"};

}  // namespace

NumberRange SchemaValues::numbers(const Conjunction& parts) const {
  NumberRange range;
  for (const SchemaPart& part : parts) {
    const auto add = [&](const char* name, std::optional<Decimal>& limit, int direction,
                         bool exclusive) {
      const OrderedJson* value = keyword(*part.schema, name);
      if (value == nullptr) return;
      Decimal decimal = to_decimal(*value);
      decimal.exclusive = exclusive;
      tighten(limit, std::move(decimal), direction);
    };
    add("minimum", range.low, 1, false);
    add("exclusiveMinimum", range.low, 1, true);
    add("maximum", range.high, -1, false);
    add("exclusiveMaximum", range.high, -1, true);
  }
  return range;
}

Result<const CodePointDfa*> SchemaValues::pattern(const OrderedJson& schema, const char* name) {
  std::string text = *keyword(schema, name);
  if (name == std::string_view("format")) {
    auto known = pattern_of_format(text);
    if (!known) {
      return document_.error(schema, name, "is none of those supported: " + known_formats());
    }
    text = *std::move(known);
  }
  const auto [found, added] = patterns_.try_emplace(text);
  if (added) {
    auto compiled = compile_pattern(text, work_);
    RETURN_IF_ERROR(document_.spend(0));
    if (!compiled.ok()) return document_.error(schema, name, compiled.error().message);
    found->second = *std::move(compiled);
  }
  return &found->second;
}

Result<SchemaValues::Texts> SchemaValues::texts(const Conjunction& parts) {
  Texts texts;
  for (const SchemaPart& part : parts) {
    const OrderedJson& schema = *part.schema;
    texts.min = std::max(texts.min, count_keyword(schema, "minLength").value_or(0));
    texts.max = std::min(texts.max, count_keyword(schema, "maxLength").value_or(UINT32_MAX));
    for (const char* name : {"pattern", "format"}) {
      if (keyword(schema, name) == nullptr) continue;
      ASSIGN_OR_RETURN(const CodePointDfa* dfa, pattern(schema, name));
      if (texts.pattern != nullptr && texts.pattern != dfa) {
        return document_.error(schema, name, "two patterns for one string are not supported");
      }
      texts.pattern = dfa;
    }
  }
  return texts;
}

Result<bool> SchemaValues::text_holds(const std::string& text, const OrderedJson& schema) {
  ASSIGN_OR_RETURN(const Texts limits, texts({{&schema}}));
  const std::u32string code_points = to_code_points(text);
  if (code_points.size() < limits.min || code_points.size() > limits.max) return false;
  return limits.pattern == nullptr || limits.pattern->accepts(code_points);
}

Result<bool> SchemaValues::holds(const OrderedJson& value, const OrderedJson& schema) {
  RETURN_IF_ERROR(document_.spend(10 + schema.size()));
  if (const auto types = stated_types(schema); types && (*types & type_of(value)) == 0)
    return false;
  if (const OrderedJson* only = keyword(schema, "const"); only != nullptr && *only != value) {
    return false;
  }
  if (const OrderedJson* list = keyword(schema, "enum")) {
    RETURN_IF_ERROR(document_.spend(list->size()));
    if (std::ranges::find(*list, value) == list->end()) return false;
  }
  if (value.is_string()) return text_holds(value.get_ref<const std::string&>(), schema);
  if (value.is_number()) return within(value, numbers({{&schema}}));
  if (!value.is_structured()) return true;
  for (const char* name : kOfObjectsAndArrays) {
    if (keyword(schema, name) == nullptr) continue;
    return document_.error(schema, name, "beside a listed object or array is not supported");
  }
  return true;
}

Result<std::optional<std::vector<OrderedJson>>> SchemaValues::listed(const Conjunction& parts,
                                                                     uint32_t types) {
  const OrderedJson* list = nullptr;
  const OrderedJson* only = nullptr;
  for (const SchemaPart& part : parts) {
    if (only == nullptr) only = keyword(*part.schema, "const");
    if (list == nullptr) list = keyword(*part.schema, "enum");
  }
  if (only == nullptr && list == nullptr) return std::optional<std::vector<OrderedJson>>();
  std::vector<OrderedJson> candidates = {};
  if (only != nullptr) {
    candidates.push_back(*only);
  } else {
    candidates.assign(list->begin(), list->end());
  }
  std::vector<OrderedJson> values;
  for (OrderedJson& value : candidates) {
    bool all = (type_of(value) & types) != 0;
    for (size_t i = 0; i < parts.size() && all; ++i) {
      ASSIGN_OR_RETURN(all, holds(value, *parts[i].schema));
    }
    if (all) values.push_back(std::move(value));
  }
  return std::optional(std::move(values));
}

}  // namespace cascade
