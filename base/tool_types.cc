// A schema is only asked for the types that it allows; everything else in it is for the client.
#include "base/tool_types.h"

#include <utility>

#include "base/exact_number.h"
#include "base/text_edges.h"

namespace cascade {
namespace {

// The work that one value is worth: a schema counts as kSchemaWork, a listed value as 1. Schemas
// may refer to each other in a circle, and each several times.
constexpr int kSchemaWork = 20;
constexpr int kWorkMax = 1000 * kSchemaWork;

const OrderedJson* member(const OrderedJson& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

// The schema at the place that a reference such as "#/$defs/NAME" names.
const OrderedJson* referred(const OrderedJson& root, std::string_view reference) {
  if (!reference.starts_with('#')) return nullptr;
  const OrderedJson* at = &root;
  reference.remove_prefix(1);
  while (at != nullptr && reference.starts_with('/')) {
    reference.remove_prefix(1);
    const std::string_view key = reference.substr(0, reference.find('/'));
    at = member(*at, key);
    reference.remove_prefix(key.size());
  }
  return at;
}

// Adds the types that `schema` allows, as far as it says so. `left`: the work that may still be
// done.
void add_types(const OrderedJson& root, const OrderedJson& schema, int& left,
               std::set<std::string, std::less<>>& types) {
  left -= kSchemaWork;
  if (left < 0) return;
  if (const OrderedJson* type = member(schema, "type"); type != nullptr) {
    const OrderedJson list = type->is_array() ? *type : OrderedJson::array({*type});
    for (const OrderedJson& one : list) {
      if (one.is_string()) types.insert(one.get<std::string>());
    }
  }
  if (const OrderedJson* nullable = member(schema, "nullable");
      nullable != nullptr && *nullable == true) {
    types.insert("null");
  }
  if (const OrderedJson* constant = member(schema, "const"); constant != nullptr) {
    types.insert(type_name_of(*constant));
  }
  if (const OrderedJson* values = member(schema, "enum"); values != nullptr && values->is_array()) {
    for (const OrderedJson& value : *values) {
      if (--left < 0) return;
      types.insert(type_name_of(value));
    }
  }
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    const OrderedJson* schemas = member(schema, key);
    if (schemas == nullptr || !schemas->is_array()) continue;
    for (const OrderedJson& one : *schemas) add_types(root, one, left, types);
  }
  const OrderedJson* reference = member(schema, "$ref");
  if (reference == nullptr || !reference->is_string()) return;
  const OrderedJson* named = referred(root, reference->get_ref<const std::string&>());
  if (named != nullptr) add_types(root, *named, left, types);
}

}  // namespace

void ToolTypes::add(std::string_view tools) {
  const auto parsed = parse_ordered_json(tools, "tools");
  if (!parsed.ok() || !parsed->is_array()) return;
  for (const OrderedJson& tool : *parsed) {
    const OrderedJson* function = member(tool, "function");
    const OrderedJson* name = function == nullptr ? nullptr : member(*function, "name");
    if (name == nullptr || !name->is_string()) continue;
    const OrderedJson* parameters = member(*function, "parameters");
    parameters_.insert_or_assign(name->get<std::string>(),
                                 parameters == nullptr ? OrderedJson() : *parameters);
  }
}

bool ToolTypes::has(std::string_view function) const {
  return parameters_.contains(function);
}

// The types that the schema of an argument allows; none if it says nothing about types.
ToolTypes::Types ToolTypes::types_of(std::string_view function, std::string_view argument) const {
  Types types;
  const auto found = parameters_.find(function);
  if (found == parameters_.end()) return types;
  const OrderedJson* properties = member(found->second, "properties");
  const OrderedJson* schema = properties == nullptr ? nullptr : member(*properties, argument);
  int left = kWorkMax;
  if (schema != nullptr) add_types(found->second, *schema, left, types);
  return types;
}

ArgumentText ToolTypes::reads_as(std::string_view function, std::string_view argument) const {
  Types types = types_of(function, argument);
  if (!types.contains("string")) return ArgumentText::kJson;
  const bool may_be_null = types.erase("null") > 0;
  if (types.size() > 1) return ArgumentText::kEither;
  return may_be_null ? ArgumentText::kStringOrNull : ArgumentText::kString;
}

OrderedJson ToolTypes::value(std::string_view function, std::string_view argument,
                             std::string_view text) const {
  Types types = types_of(function, argument);
  const std::string_view spelled = trimmed(text);
  const bool may_be_null = types.empty() || types.contains("null");
  if (may_be_null && (spelled == "null" || spelled == "None")) return nullptr;
  types.erase("null");
  if (types.size() == 1 && types.contains("string")) return std::string(text);
  if (spelled == "True") return true;
  if (spelled == "False") return false;
  auto parsed = parse_ordered_json(spelled, "value");
  // Text in quotes is JSON only if the value may be something else than a string.
  if (!parsed.ok() || (parsed->is_string() && types.contains("string"))) return std::string(text);
  return *std::move(parsed);
}

}  // namespace cascade
