// Each set of schemas that hold together becomes one node of the grammar.
#include "model/grammar/schema.h"

#include <deque>
#include <map>
#include <set>
#include <unordered_set>

#include "model/grammar/schema_document.h"
#include "model/grammar/schema_keywords.h"
#include "model/grammar/schema_overlap.h"
#include "model/grammar/schema_values.h"

namespace cascade {
namespace {

using namespace schema_types;

class Compiler {
 public:
  Compiler(GrammarBuilder& builder, JsonPieces& pieces, const OrderedJson& schema,
           std::string_view field, size_t& work)
      : builder_(builder),
        pieces_(pieces),
        document_(schema, field, work),
        values_(document_, work) {}

  Result<GrammarNodeId> compile() {
    ASSIGN_OR_RETURN(const GrammarNodeId root, node_of({{&document_.root()}}));
    while (!left_.empty() && !builder_.full()) {
      const auto [node, parts] = std::move(left_.front());
      left_.pop_front();
      ASSIGN_OR_RETURN(const GrammarNodeId made, make(parts));
      builder_.define(node, made);
    }
    return root;
  }

 private:
  // The node of what all of `parts` hold for; it is made later.
  Result<GrammarNodeId> node_of(const Conjunction& parts) {
    ASSIGN_OR_RETURN(std::optional<Conjunction> all, document_.expand(parts));
    if (!all) return nothing();
    const auto [known, added] = nodes_.try_emplace(*all, 0);
    if (!added) return known->second;
    if (nodes_.size() > kSchemasMax) {
      return document_.error(*(*all)[0].schema, "",
                             "there are more schemas, or combinations of them, than the limit of " +
                                 std::to_string(kSchemasMax));
    }
    const GrammarNodeId node = builder_.forward();
    known->second = node;
    left_.emplace_back(node, *std::move(all));
    return node;
  }

  GrammarNodeId nothing() { return builder_.choice({}); }

  Result<GrammarNodeId> make(const Conjunction& parts) {
    RETURN_IF_ERROR(document_.spend(100));
    for (size_t i = 0; i < parts.size(); ++i) {
      const OrderedJson& schema = *parts[i].schema;
      if ((parts[i].done & SchemaPart::kAnyOf) == 0 && keyword(schema, "anyOf") != nullptr) {
        return make_choice(parts, i, "anyOf", SchemaPart::kAnyOf);
      }
      if ((parts[i].done & SchemaPart::kOneOf) == 0 && keyword(schema, "oneOf") != nullptr) {
        RETURN_IF_ERROR(check_one_of(document_, schema));
        return make_choice(parts, i, "oneOf", SchemaPart::kOneOf);
      }
    }
    return make_values(parts);
  }

  Result<GrammarNodeId> make_choice(const Conjunction& parts, size_t index, const char* name,
                                    uint32_t done) {
    const OrderedJson& schema = *parts[index].schema;
    const OrderedJson& list = *keyword(schema, name);
    std::vector<GrammarNodeId> ways;
    for (size_t i = 0; i < list.size(); ++i) {
      Conjunction with = parts;
      with[index].done |= done;
      const std::string step = std::string(name) + "/" + std::to_string(i);
      with.push_back({document_.inner(schema, step, list[i])});
      ASSIGN_OR_RETURN(const GrammarNodeId way, node_of(with));
      ways.push_back(way);
    }
    return builder_.choice(std::move(ways));
  }

  Result<GrammarNodeId> make_values(const Conjunction& parts) {
    uint32_t types = kAll, implied = 0;
    bool stated = false;
    for (const SchemaPart& part : parts) {
      const auto own = stated_types(*part.schema);
      stated |= own.has_value();
      types &= own.value_or(kAll);
      implied |= implied_types(*part.schema);
    }
    ASSIGN_OR_RETURN(const auto listed, values_.listed(parts, types));
    if (listed) return listed->empty() ? nothing() : pieces_.values(*listed);
    if (!stated && implied == 0) return pieces_.any_value();
    if (!stated) types = implied;
    std::vector<GrammarNodeId> ways;
    if (types & kObject) {
      ASSIGN_OR_RETURN(const GrammarNodeId object, make_object(parts));
      ways.push_back(object);
    }
    if (types & kArray) {
      ASSIGN_OR_RETURN(const GrammarNodeId array, make_array(parts));
      ways.push_back(array);
    }
    if (types & kString) {
      ASSIGN_OR_RETURN(const GrammarNodeId string, make_string(parts));
      ways.push_back(string);
    }
    const NumberRange range = values_.numbers(parts);
    if (types & kFraction) {
      ways.push_back(pieces_.number(range));
    } else if (types & kInteger) {
      ways.push_back(pieces_.integer(range));
    }
    if (types & kBoolean) ways.push_back(pieces_.values({true, false}));
    if (types & kNull) ways.push_back(pieces_.values({nullptr}));
    return builder_.choice(std::move(ways));
  }

  Result<GrammarNodeId> make_string(const Conjunction& parts) {
    ASSIGN_OR_RETURN(const SchemaValues::Texts texts, values_.texts(parts));
    if (texts.min > texts.max) return nothing();
    if (texts.pattern == nullptr) return pieces_.string(texts.min, texts.max);
    const std::tuple key = {texts.pattern, texts.min, texts.max};
    const auto known = strings_.find(key);
    if (known != strings_.end()) return known->second;
    GrammarNodeId node = 0;
    if (texts.min == 0 && texts.max == UINT32_MAX) {
      node = pieces_.string(*texts.pattern);
    } else {
      auto limited = limit_length(*texts.pattern, texts.min, texts.max, kLimitedStatesMax);
      if (!limited.ok()) {
        return document_.error(*parts[0].schema, "pattern", limited.error().message);
      }
      RETURN_IF_ERROR(document_.spend(limited->states.size() * 10));
      node = pieces_.string(*limited);
    }
    strings_.emplace(key, node);
    return node;
  }

  // The names in `properties`, in order; then those that are required and not described.
  Result<std::vector<std::string>> property_names(const Conjunction& parts,
                                                  std::unordered_set<std::string>& required) {
    std::vector<std::string> names;
    std::unordered_set<std::string> known;
    for (const SchemaPart& part : parts) {
      const OrderedJson* properties = keyword(*part.schema, "properties");
      if (properties == nullptr) continue;
      RETURN_IF_ERROR(document_.spend(properties->size() * 10));
      for (const auto& [name, schema] : properties->items()) {
        if (known.insert(name).second) names.push_back(name);
      }
    }
    for (const SchemaPart& part : parts) {
      const OrderedJson* list = keyword(*part.schema, "required");
      if (list == nullptr) continue;
      RETURN_IF_ERROR(document_.spend(list->size() * 10));
      for (const OrderedJson& name : *list) {
        required.insert(name);
        if (known.insert(name).second) names.push_back(name);
      }
    }
    return names;
  }

  Result<GrammarNodeId> make_object(const Conjunction& parts) {
    std::unordered_set<std::string> required;
    ASSIGN_OR_RETURN(const std::vector<std::string> names, property_names(parts, required));
    std::vector<JsonPieces::Property> properties;
    for (const std::string& name : names) {
      RETURN_IF_ERROR(document_.spend(parts.size() * 10));
      Conjunction value;
      for (const SchemaPart& part : parts) {
        if (const OrderedJson* schema = document_.property(*part.schema, name)) {
          value.push_back({schema});
        } else if (const OrderedJson* others = keyword(*part.schema, "additionalProperties")) {
          value.push_back({document_.inner(*part.schema, "additionalProperties", *others)});
        }
      }
      ASSIGN_OR_RETURN(const GrammarNodeId node, node_of(value));
      properties.push_back({name, node, required.contains(name)});
      if (builder_.full()) return nothing();
    }
    Conjunction others;
    for (const SchemaPart& part : parts) {
      if (const OrderedJson* schema = keyword(*part.schema, "additionalProperties")) {
        others.push_back({document_.inner(*part.schema, "additionalProperties", *schema)});
      }
    }
    // Where nothing is said, there are others only in an object of which nothing else is said.
    if (others.empty() && !names.empty()) return pieces_.object(properties, std::nullopt);
    ASSIGN_OR_RETURN(const GrammarNodeId other, node_of(others));
    return pieces_.object(properties, other);
  }

  // What an array's values are: the first ones each, then all others.
  struct ArrayValues {
    std::vector<Conjunction> first;
    Conjunction others;
    bool others_stated = false;
  };
  ArrayValues array_values(const Conjunction& parts) {
    ArrayValues values;
    const auto first_of = [](const OrderedJson& schema) {
      const OrderedJson* list = keyword(schema, "prefixItems");
      const OrderedJson* items = keyword(schema, "items");
      return list == nullptr && items != nullptr && items->is_array() ? items : list;
    };
    size_t count = 0;
    for (const SchemaPart& part : parts) {
      if (const OrderedJson* list = first_of(*part.schema)) count = std::max(count, list->size());
    }
    values.first.resize(count);
    for (const SchemaPart& part : parts) {
      const OrderedJson& schema = *part.schema;
      const OrderedJson* list = first_of(schema);
      const OrderedJson* items = keyword(schema, "items");
      const char* others_name = items != nullptr && items->is_array() ? "additionalItems" : "items";
      const OrderedJson* others = keyword(schema, others_name);
      for (size_t i = 0; i < count; ++i) {
        if (list != nullptr && i < list->size()) {
          const std::string step = "prefixItems/" + std::to_string(i);
          values.first[i].push_back({document_.inner(schema, step, (*list)[i])});
        } else if (others != nullptr) {
          values.first[i].push_back({document_.inner(schema, others_name, *others)});
        }
      }
      if (others == nullptr) continue;
      values.others.push_back({document_.inner(schema, others_name, *others)});
      values.others_stated = true;
    }
    return values;
  }

  Result<GrammarNodeId> make_array(const Conjunction& parts) {
    uint32_t min = 0, max = UINT32_MAX;
    for (const SchemaPart& part : parts) {
      min = std::max(min, count_keyword(*part.schema, "minItems").value_or(0));
      max = std::min(max, count_keyword(*part.schema, "maxItems").value_or(UINT32_MAX));
    }
    const ArrayValues values = array_values(parts);
    std::vector<GrammarNodeId> first;
    for (const Conjunction& value : values.first) {
      RETURN_IF_ERROR(document_.spend(parts.size() * 10));
      ASSIGN_OR_RETURN(const GrammarNodeId node, node_of(value));
      first.push_back(node);
    }
    std::optional<GrammarNodeId> others;
    // Where nothing is said, there are others only if nothing is said of the first, or too few.
    if (values.others_stated || first.empty() || min > first.size()) {
      ASSIGN_OR_RETURN(others, node_of(values.others));
    }
    return pieces_.array(first, others, min, max);
  }

  // Of a pattern together with limits of length.
  static constexpr size_t kLimitedStatesMax = 4000;

  GrammarBuilder& builder_;
  JsonPieces& pieces_;
  SchemaDocument document_;
  SchemaValues values_;
  std::map<Conjunction, GrammarNodeId> nodes_;
  std::deque<std::pair<GrammarNodeId, Conjunction>> left_;  // to be made
  std::map<std::tuple<const CodePointDfa*, uint32_t, uint32_t>, GrammarNodeId> strings_;
};

}  // namespace

Result<GrammarNodeId> add_schema(GrammarBuilder& builder, JsonPieces& pieces,
                                 const OrderedJson& schema, std::string_view field, size_t& work) {
  return Compiler(builder, pieces, schema, field, work).compile();
}

}  // namespace cascade
