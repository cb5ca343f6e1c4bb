// Goes into the values of keywords that hold schemas, and copies everything else.
#include "wire/openai/bare_schema.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace cascade::openai {
namespace {

constexpr std::string_view kAnnotations[] = {"title",    "description", "default", "example",
                                             "examples", "$comment",    "$schema", "deprecated",
                                             "readOnly", "writeOnly"};

// Keywords whose value is a schema, or a list of schemas.
constexpr std::string_view kOfSchemas[] = {
    "allOf",        "anyOf",       "oneOf",           "not",
    "items",        "prefixItems", "additionalItems", "additionalProperties",
    "propertyNames"};
// Keywords whose value has a schema for each name.
constexpr std::string_view kOfNamedSchemas[] = {"properties", "patternProperties", "$defs",
                                                "definitions"};

bool is_among(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

OrderedJson bare_schema(const OrderedJson& schema) {
  if (!schema.is_object()) return schema;
  OrderedJson bare = OrderedJson::object();
  for (const auto& [name, value] : schema.items()) {
    if (is_among(name, kAnnotations)) continue;
    OrderedJson& kept = bare[name] = value;
    const bool is_list = is_among(name, kOfSchemas) && value.is_array();
    if (is_list || (is_among(name, kOfNamedSchemas) && value.is_object())) {
      for (OrderedJson& inner : kept) inner = bare_schema(inner);
    } else if (is_among(name, kOfSchemas)) {
      kept = bare_schema(value);
    }
  }
  return bare;
}

}  // namespace cascade::openai
