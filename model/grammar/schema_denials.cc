// Finds which demands of a schema `not` can deny. A schema fails as soon as one of its demands
// fails. A demand that cannot be denied is ignored as long as the schema has one that can.
#include <algorithm>
#include <string>

#include "model/grammar/schema_document.h"
#include "model/grammar/schema_keywords.h"

namespace cascade {
namespace {

// Keywords whose value is a list or an object, each member of which is a separate demand.
constexpr std::string_view kOfMembers[] = {"required", "properties", "allOf"};

constexpr std::string_view kDeniable[] = {"type",
                                          "const",
                                          "enum",
                                          "pattern",
                                          "minLength",
                                          "maxLength",
                                          "minimum",
                                          "maximum",
                                          "minItems",
                                          "exclusiveMinimum",
                                          "exclusiveMaximum",
                                          "maxItems",
                                          "minProperties",
                                          "required",
                                          "not",
                                          "properties",
                                          "allOf",
                                          "anyOf",
                                          "$ref"};

// The types of the values for which the keyword might not hold. It always holds for values of other
// types.
uint32_t types_with(std::string_view keyword) {
  if (keyword == "const" || keyword == "enum" || keyword.empty()) return schema_types::kAll;
  return types_spoken_of(keyword);
}

}  // namespace

std::optional<uint32_t> types_of(const Conjunction& conjunction) {
  std::optional<uint32_t> types;
  const auto narrow = [&](uint32_t to) { types = types.value_or(schema_types::kAll) & to; };
  for (const SchemaPart& part : conjunction.parts) {
    if (const auto own = stated_types(*part.schema)) narrow(*own);
  }
  for (const Denial& denial : conjunction.denials) {
    if (denial.keyword == "type") {
      narrow(schema_types::kAll & ~*stated_types(*denial.schema));
    } else if (types_with(denial.keyword) != schema_types::kAll) {
      narrow(types_with(denial.keyword));
    }
  }
  return types;
}

Result<std::vector<Denial>> SchemaDocument::ways_to_deny(const OrderedJson& schema) {
  std::vector<Denial> ways;
  std::string left_out;
  for (const auto& [name, value] : schema.items()) {
    // In older drafts "exclusiveMinimum" and "exclusiveMaximum" are booleans, which only say
    // whether `minimum` or `maximum` itself is allowed.
    if (!is_demand(name) || (name.starts_with("exclusive") && value.is_boolean())) continue;
    const auto* known = std::ranges::find(kDeniable, name);
    if (known == std::end(kDeniable)) {
      left_out = name;
      continue;
    }
    const bool of_members = std::ranges::find(kOfMembers, name) != std::end(kOfMembers);
    const size_t count = of_members ? value.size() : 1;
    for (uint32_t i = 0; i < count; ++i) ways.push_back({&schema, *known, i});
  }
  RETURN_IF_ERROR(spend(ways.size() + 1));
  if (ways.empty() && !left_out.empty()) {
    return error(schema, left_out, "cannot be denied, as not or oneOf wants it here");
  }
  return ways;
}

// Denies one demand. Other schemas that have to hold or fail because of this are looked at later.
Status SchemaDocument::deny(const Denial& way, Expansion& expansion) {
  const OrderedJson& schema = *way.schema;
  const auto member = [&](const OrderedJson& list, size_t i) {
    return inner(schema, std::string(way.keyword) + "/" + std::to_string(i), list[i]);
  };
  if (way.keyword == "not") {
    expansion.parts.push_back({inner(schema, "not", *keyword(schema, "not"))});
  } else if (way.keyword == "$ref") {
    ASSIGN_OR_RETURN(const OrderedJson* target, resolve(schema));
    expansion.denials.push_back({target});
  } else if (way.keyword == "allOf") {
    expansion.denials.push_back({member(*keyword(schema, "allOf"), way.index)});
  } else if (way.keyword == "anyOf") {
    const OrderedJson& list = *keyword(schema, "anyOf");
    for (size_t i = 0; i < list.size(); ++i) expansion.denials.push_back({member(list, i)});
  } else {
    expansion.all.denials.push_back(way);
  }
  return {};
}

}  // namespace cascade
