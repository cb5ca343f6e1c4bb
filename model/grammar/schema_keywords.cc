// Tables of keywords.
#include "model/grammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/exact_number.h"
#include "model/grammar/numbers.h"

namespace cascade {
namespace {

using namespace schema_types;

enum class Shape {
  kSchema,
  kSchemas,
  kSchemaMap,
  kSchemaOrList,
  kText,
  kCount,
  kNumber,
  kStep,
  kLimit,
  kTexts,
  kValues,
  kTypes,
  kBool
};

struct Keyword {
  std::string_view name;
  Shape shape;
  uint32_t types;  // the types of values that the keyword is about
};

constexpr Keyword kKnown[] = {
    {"type", Shape::kTypes, 0},
    {"nullable", Shape::kBool, 0},
    {"enum", Shape::kValues, 0},
    {"$ref", Shape::kText, 0},
    {"allOf", Shape::kSchemas, 0},
    {"anyOf", Shape::kSchemas, 0},
    {"oneOf", Shape::kSchemas, 0},
    {"not", Shape::kSchema, 0},
    {"$defs", Shape::kSchemaMap, 0},
    {"definitions", Shape::kSchemaMap, 0},
    {"properties", Shape::kSchemaMap, kObject},
    {"required", Shape::kTexts, kObject},
    {"additionalProperties", Shape::kSchema, kObject},
    {"patternProperties", Shape::kSchemaMap, kObject},
    {"propertyNames", Shape::kSchema, kObject},
    {"minProperties", Shape::kCount, kObject},
    {"maxProperties", Shape::kCount, kObject},
    {"prefixItems", Shape::kSchemas, kArray},
    {"items", Shape::kSchemaOrList, kArray},
    {"additionalItems", Shape::kSchema, kArray},
    {"minItems", Shape::kCount, kArray},
    {"maxItems", Shape::kCount, kArray},
    {"uniqueItems", Shape::kBool, kArray},
    {"minLength", Shape::kCount, kString},
    {"maxLength", Shape::kCount, kString},
    {"pattern", Shape::kText, kString},
    {"format", Shape::kText, kString},
    {"minimum", Shape::kNumber, kInteger | kFraction},
    {"maximum", Shape::kNumber, kInteger | kFraction},
    {"exclusiveMinimum", Shape::kLimit, kInteger | kFraction},
    {"exclusiveMaximum", Shape::kLimit, kInteger | kFraction},
    {"multipleOf", Shape::kStep, kInteger | kFraction},
};

// These keywords decide whether a document is valid, but we cannot follow them.
constexpr std::string_view kRefused[] = {"if",
                                         "then",
                                         "else",
                                         "dependencies",
                                         "contains",
                                         "minContains",
                                         "maxContains",
                                         "divisibleBy",
                                         "$dynamicRef",
                                         "$recursiveRef",
                                         "disallow",
                                         "extends",
                                         "dependentRequired",
                                         "dependentSchemas",
                                         "unevaluatedItems",
                                         "unevaluatedProperties"};

// Whether a refused keyword demands nothing if it has this value.
bool says_nothing(std::string_view name, const OrderedJson& value) {
  if (name.starts_with("unevaluated")) return value == true;
  return name.starts_with("depend") && value.is_object() && value.empty();
}

bool is_schema(const OrderedJson& value) {
  return value.is_object() || value.is_boolean();
}

bool is_count(const OrderedJson& value) {
  if (value.is_number_unsigned()) return true;
  if (value.is_number_integer()) return value.get<int64_t>() >= 0;
  if (!value.is_number_float() && !is_exact_number(value)) return false;
  const double number = nearest_double(value);
  return number >= 0 && number == std::floor(number);
}

constexpr std::pair<std::string_view, uint32_t> kTypeNames[] = {
    {"null", kNull},       {"boolean", kBoolean},
    {"integer", kInteger}, {"number", kInteger | kFraction},
    {"string", kString},   {"array", kArray},
    {"object", kObject}};

uint32_t type_named(const OrderedJson& name) {
  if (!name.is_string()) return 0;
  for (const auto& [known, types] : kTypeNames) {
    if (known == name.get_ref<const std::string&>()) return types;
  }
  return 0;
}

template <class Test>
bool all_of_list(const OrderedJson& value, const Test& test) {
  return value.is_array() && std::ranges::all_of(value, test);
}

// A message about what the value must be; null if it is right.
const char* wrong_shape(Shape shape, const OrderedJson& value) {
  const auto is_text = [](const OrderedJson& v) { return v.is_string(); };
  const auto expect = [](bool right, const char* what) { return right ? nullptr : what; };
  switch (shape) {
    case Shape::kSchema: return expect(is_schema(value), "must be a schema");
    case Shape::kSchemas:
      return expect(all_of_list(value, is_schema) && !value.empty(), "must be a list of schemas");
    case Shape::kSchemaMap:
      return expect(value.is_object() && std::ranges::all_of(value, is_schema),
                    "must be an object of schemas");
    case Shape::kSchemaOrList:
      return expect(is_schema(value) || all_of_list(value, is_schema),
                    "must be a schema or a list of schemas");
    case Shape::kText: return expect(value.is_string(), "must be a string");
    case Shape::kCount: return expect(is_count(value), "must be a whole number from 0 on");
    case Shape::kNumber: return expect(is_any_number(value), "must be a number");
    case Shape::kStep:
      return expect(is_any_number(value) && nearest_double(value) > 0,
                    "must be a number greater than 0");
    case Shape::kLimit:
      return expect(is_any_number(value) || value.is_boolean(), "must be a number, true or false");
    case Shape::kTexts: return expect(all_of_list(value, is_text), "must be a list of strings");
    case Shape::kValues: return expect(value.is_array(), "must be a list");
    case Shape::kTypes:
      return expect(type_named(value) != 0 || (all_of_list(value, type_named) && !value.empty()),
                    "must be null, boolean, integer, number, string, array, object, or a list of "
                    "such");
    case Shape::kBool: return expect(value.is_boolean(), "must be true or false");
  }
  return nullptr;
}

}  // namespace

Status check_keywords(const OrderedJson& schema, bool is_root) {
  if (schema.is_boolean()) return {};
  if (!schema.is_object()) return invalid_argument("", "a schema must be an object, true or false");
  for (const auto& [name, value] : schema.items()) {
    if (std::ranges::find(kRefused, name) != std::end(kRefused) && !says_nothing(name, value)) {
      return invalid_argument(name, "the keyword is not supported");
    }
    if (name == "$id" && !is_root) {
      return invalid_argument(name, "is supported in the outermost schema only");
    }
    const auto* known = std::ranges::find(kKnown, name, &Keyword::name);
    if (known == std::end(kKnown)) continue;  // an unknown keyword says nothing about validity
    if (const char* problem = wrong_shape(known->shape, value)) {
      return invalid_argument(name, problem);
    }
  }
  return {};
}

bool is_demand(std::string_view name) {
  if (name == "nullable" || name == "$defs" || name == "definitions") return false;
  // kKnown does not list "const", because any value of it is right.
  if (name == "const") return true;
  return std::ranges::find(kKnown, name, &Keyword::name) != std::end(kKnown);
}

const OrderedJson* keyword(const OrderedJson& schema, const char* name) {
  if (!schema.is_object()) return nullptr;
  const auto found = schema.find(name);
  return found == schema.end() ? nullptr : &*found;
}

std::optional<uint32_t> stated_types(const OrderedJson& schema) {
  const OrderedJson* type = keyword(schema, "type");
  if (type == nullptr) return std::nullopt;
  uint32_t types = 0;
  if (type->is_array()) {
    for (const OrderedJson& name : *type) types |= type_named(name);
  } else {
    types = type_named(*type);
  }
  const OrderedJson* nullable = keyword(schema, "nullable");
  if (nullable != nullptr && *nullable == true) types |= kNull;
  return types;
}

uint32_t implied_types(const OrderedJson& schema) {
  uint32_t types = 0;
  for (const Keyword& known : kKnown) {
    if (known.types != 0 && keyword(schema, known.name.data()) != nullptr) types |= known.types;
  }
  return types;
}

uint32_t types_spoken_of(std::string_view keyword) {
  const auto* known = std::ranges::find(kKnown, keyword, &Keyword::name);
  return known == std::end(kKnown) || known->types == 0 ? kAll : known->types;
}

uint32_t type_of(const OrderedJson& value) {
  switch (value.type()) {
    case OrderedJson::value_t::null: return kNull;
    case OrderedJson::value_t::boolean: return kBoolean;
    case OrderedJson::value_t::string: return kString;
    case OrderedJson::value_t::array: return kArray;
    case OrderedJson::value_t::object: return kObject;
    case OrderedJson::value_t::number_float: {
      const double number = value.get<double>();
      return number == std::floor(number) ? kInteger : kFraction;
    }
    default: return kInteger;
  }
}

std::optional<uint32_t> count_keyword(const OrderedJson& schema, const char* name) {
  const OrderedJson* value = keyword(schema, name);
  if (value == nullptr) return std::nullopt;
  const double number = nearest_double(*value);
  return number >= UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(number);
}

bool same_value(const OrderedJson& a, const OrderedJson& b) {
  if (is_any_number(a) && is_any_number(b)) return compare(to_decimal(a), to_decimal(b)) == 0;
  if (!a.is_structured() || !b.is_structured()) return a == b;
  if (a.is_array() != b.is_array() || a.size() != b.size()) return false;
  if (a.is_array()) return std::ranges::equal(a, b, same_value);
  return std::ranges::all_of(a.items(), [&](const auto& member) {
    const auto other = b.find(member.key());
    return other != b.end() && same_value(member.value(), *other);
  });
}

}  // namespace cascade
