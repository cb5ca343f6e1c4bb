// Items by their places, and items that are all different.
#include "model/grammar/schema_array.h"

#include <algorithm>
#include <string>

#include "model/grammar/schema_keywords.h"

namespace cascade {
namespace {

// The largest number of places for values that must all be different: each value takes one place
// for each number of items before it.
constexpr size_t kPlacesOfDistinctMax = 10'000;

const OrderedJson* first_items(const OrderedJson& schema) {
  const OrderedJson* list = keyword(schema, "prefixItems");
  const OrderedJson* items = keyword(schema, "items");
  return list == nullptr && items != nullptr && items->is_array() ? items : list;
}

// Adds the schemas of the first items one by one, and those of the other items if there are any.
void add_items(SchemaDocument& document, const Conjunction& conjunction, ArrayShape& shape) {
  size_t count = 0;
  for (const SchemaPart& part : conjunction.parts) {
    if (const OrderedJson* list = first_items(*part.schema)) count = std::max(count, list->size());
  }
  shape.first.resize(count);
  for (const SchemaPart& part : conjunction.parts) {
    const OrderedJson& schema = *part.schema;
    const OrderedJson* list = first_items(schema);
    const OrderedJson* items = keyword(schema, "items");
    const char* others_name = items != nullptr && items->is_array() ? "additionalItems" : "items";
    const OrderedJson* others = keyword(schema, others_name);
    for (size_t i = 0; i < count; ++i) {
      if (list != nullptr && i < list->size()) {
        const std::string step = "prefixItems/" + std::to_string(i);
        shape.first[i].parts.push_back({document.inner(schema, step, (*list)[i])});
      } else if (others != nullptr) {
        shape.first[i].parts.push_back({document.inner(schema, others_name, *others)});
      }
    }
    if (others == nullptr) continue;
    if (!shape.others) shape.others.emplace();
    shape.others->parts.push_back({document.inner(schema, others_name, *others)});
  }
}

void add_counts(const Conjunction& conjunction, ArrayShape& shape) {
  for (const SchemaPart& part : conjunction.parts) {
    shape.min = std::max(shape.min, count_keyword(*part.schema, "minItems").value_or(0));
    shape.max = std::min(shape.max, count_keyword(*part.schema, "maxItems").value_or(UINT32_MAX));
  }
  for (const Denial& denial : conjunction.denials) {
    if (denial.keyword == "maxItems") {
      const uint32_t max = *count_keyword(*denial.schema, "maxItems");
      shape.min = std::max(shape.min, max == UINT32_MAX ? max : max + 1);
    } else if (denial.keyword == "minItems") {
      const uint32_t min = *count_keyword(*denial.schema, "minItems");
      shape.max = std::min(shape.max, min == 0 ? 0 : min - 1);
      if (min == 0) shape.min = 1;  // no array has fewer than 0 items
    }
  }
}

// The schema that demands that all items are different; null if none does.
const OrderedJson* unique_by(const Conjunction& conjunction) {
  for (const SchemaPart& part : conjunction.parts) {
    const OrderedJson* unique = keyword(*part.schema, "uniqueItems");
    if (unique != nullptr && *unique == true) return part.schema;
  }
  return nullptr;
}

// Whether no two of the places can have the same value, because they are of different types.
Result<bool> are_of_different_types(SchemaDocument& document, const ArrayShape& shape) {
  uint32_t seen = 0;
  for (const Conjunction& item : shape.first) {
    ASSIGN_OR_RETURN(const auto all, document.expand(item));
    const uint32_t types = all ? types_of(*all).value_or(schema_types::kAll) : 0;
    if ((types & seen) != 0) return false;
    seen |= types;
  }
  return true;
}

Status make_distinct(SchemaDocument& document, SchemaValues& values, const OrderedJson& schema,
                     ArrayShape& shape) {
  if (shape.max <= 1) return {};
  if (!shape.first.empty()) {
    bool no_others = !shape.others || shape.max <= shape.first.size();
    if (!no_others) {
      ASSIGN_OR_RETURN(const auto others, document.expand(*shape.others));
      no_others = !others;
    }
    ASSIGN_OR_RETURN(const bool different, are_of_different_types(document, shape));
    if (no_others && different) return {};
  } else if (shape.others) {
    ASSIGN_OR_RETURN(shape.distinct, values.few_values(*shape.others));
  }
  if (!shape.distinct) {
    return document.error(
        schema, "uniqueItems",
        "can be held only where the items are at most " +
            std::to_string(SchemaValues::kFewValuesMax) +
            " known values (enum, const, booleans, integers within limits); list them in items, or "
            "leave uniqueItems out and check the answer");
  }
  shape.max = static_cast<uint32_t>(std::min<size_t>(shape.max, shape.distinct->size()));
  const size_t counts = shape.max < shape.distinct->size() ? shape.max : shape.min;
  if (shape.distinct->size() * counts > kPlacesOfDistinctMax) {
    return document.error(
        schema, "uniqueItems",
        "takes too many states together with minItems or maxItems; the limit is " +
            std::to_string(kPlacesOfDistinctMax));
  }
  return {};
}

}  // namespace

Result<ArrayShape> shape_of_array(SchemaDocument& document, SchemaValues& values,
                                  const Conjunction& conjunction) {
  ArrayShape shape;
  RETURN_IF_ERROR(document.spend(conjunction.parts.size() * 10));
  add_items(document, conjunction, shape);
  add_counts(conjunction, shape);
  // If no schema describes the other items, the array has other items only if no schema describes
  // first items either, or if the first items are fewer than `min`.
  if (!shape.others && (shape.first.empty() || shape.min > shape.first.size())) {
    shape.others.emplace();
  }
  RETURN_IF_ERROR(document.spend(conjunction.parts.size() * shape.first.size()));
  if (const OrderedJson* schema = unique_by(conjunction)) {
    RETURN_IF_ERROR(make_distinct(document, values, *schema, shape));
  }
  return shape;
}

}  // namespace cascade
