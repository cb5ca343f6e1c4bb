// Compares what alternatives say directly.
#include "model/grammar/schema_overlap.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/exact_number.h"
#include "model/grammar/json_pieces.h"
#include "model/grammar/schema_keywords.h"

namespace cascade {
namespace {

using namespace schema_types;

using ValueSet = std::set<std::string>;  // as compact text

struct Facts {
  uint32_t types = kAll;
  std::optional<ValueSet> listed;
  std::map<std::string, ValueSet> tags;  // the values that required properties may have
  bool never = false;
};

bool disjoint(const ValueSet& a, const ValueSet& b) {
  return std::ranges::none_of(a, [&](const std::string& value) { return b.contains(value); });
}

// Equal numbers may be written differently, and so may equal objects.
std::string spelled(const OrderedJson& value) {
  if (!is_any_number(value)) return Json(value).dump();
  const Decimal number = to_decimal(value);
  return (number.negative ? "-" : "") + number.whole + "." + number.fraction;
}

void add_listed(const OrderedJson& schema, std::optional<ValueSet>& listed, uint32_t& types) {
  const OrderedJson* only = keyword(schema, "const");
  const OrderedJson* list = keyword(schema, "enum");
  if (only == nullptr && list == nullptr) return;
  ValueSet values;
  uint32_t own = 0;
  const auto add = [&](const OrderedJson& value) {
    values.insert(spelled(value));
    own |= type_of(value);
  };
  if (only != nullptr) {
    add(*only);
  } else {
    for (const OrderedJson& value : *list) add(value);
  }
  types &= own;
  if (!listed) listed = std::move(values);
}

Result<Facts> facts_of(SchemaDocument& document, const OrderedJson& schema, bool with_tags) {
  Facts facts;
  ASSIGN_OR_RETURN(const auto all, document.expand({{{&schema}}, {}}));
  if (!all) {
    facts.never = true;
    return facts;
  }
  const std::vector<SchemaPart>& parts = all->parts;
  for (const SchemaPart& part : parts) {
    RETURN_IF_ERROR(document.spend(20));
    facts.types &= stated_types(*part.schema).value_or(kAll);
    add_listed(*part.schema, facts.listed, facts.types);
  }
  if (!with_tags) return facts;
  for (const SchemaPart& part : parts) {
    const OrderedJson* required = keyword(*part.schema, "required");
    if (required == nullptr) continue;
    for (const OrderedJson& name : *required) {
      for (const SchemaPart& other : parts) {
        const OrderedJson* value = document.property(*other.schema, name);
        if (value == nullptr) continue;
        ASSIGN_OR_RETURN(Facts inner, facts_of(document, *value, false));
        if (inner.listed) facts.tags.emplace(name, *std::move(inner.listed));
      }
    }
  }
  return facts;
}

bool disjoint(const Facts& a, const Facts& b) {
  if (a.never || b.never || (a.types & b.types) == 0) return true;
  if (a.listed && b.listed && disjoint(*a.listed, *b.listed)) return true;
  if (a.types != kObject || b.types != kObject) return false;
  return std::ranges::any_of(a.tags, [&](const auto& tag) {
    const auto other = b.tags.find(tag.first);
    return other != b.tags.end() && disjoint(tag.second, other->second);
  });
}

}  // namespace

Result<std::vector<std::pair<size_t, size_t>>> overlapping_pairs(SchemaDocument& document,
                                                                 const OrderedJson& schema) {
  const OrderedJson& list = *keyword(schema, "oneOf");
  std::vector<std::pair<size_t, size_t>> pairs;
  std::vector<Facts> all;
  for (size_t i = 0; i < list.size(); ++i) {
    const OrderedJson* inner = document.inner(schema, "oneOf/" + std::to_string(i), list[i]);
    ASSIGN_OR_RETURN(Facts facts, facts_of(document, *inner, true));
    for (size_t other = 0; other < i; ++other) {
      RETURN_IF_ERROR(document.spend(20));
      if (!disjoint(all[other], facts)) pairs.emplace_back(other, i);
    }
    all.push_back(std::move(facts));
  }
  return pairs;
}

}  // namespace cascade
