// Makes one node of the grammar for each set of schemas that hold together.
#include "model/grammar/schema.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "model/grammar/schema_array.h"
#include "model/grammar/schema_choices.h"
#include "model/grammar/schema_document.h"
#include "model/grammar/schema_keywords.h"
#include "model/grammar/schema_object.h"
#include "model/grammar/schema_texts.h"
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
        work_(work),
        texts_(document_, work),
        values_(document_, texts_) {}

  Result<GrammarNodeId> compile() {
    ASSIGN_OR_RETURN(const GrammarNodeId root, node_of({{{&document_.root()}}, {}}));
    while (!left_.empty()) {
      const auto [node, conjunction] = std::move(left_.front());
      left_.pop_front();
      document_.enter(conjunction);
      ASSIGN_OR_RETURN(const GrammarNodeId made, make(conjunction));
      builder_.define(node, made);
      if (builder_.full()) {
        return document_.error(
            document_.entered(), "",
            "the schema is too large: up to here it takes more than the limit of " +
                GrammarBuilder::limits());
      }
    }
    return root;
  }

 private:
  // The node of the values for which `conjunction` holds. The node is made later.
  Result<GrammarNodeId> node_of(const Conjunction& conjunction) {
    ASSIGN_OR_RETURN(std::optional<Conjunction> all, document_.expand(conjunction));
    if (!all) return nothing();
    const auto [known, added] = nodes_.try_emplace(*all, 0);
    if (!added) return known->second;
    if (nodes_.size() > kSchemasMax) {
      return document_.error(document_.entered(), "",
                             "there are more schemas, or combinations of them, than the limit of " +
                                 std::to_string(kSchemasMax));
    }
    const GrammarNodeId node = builder_.forward();
    known->second = node;
    left_.emplace_back(node, *std::move(all));
    return node;
  }

  GrammarNodeId nothing() { return builder_.choice({}); }

  Result<GrammarNodeId> make(const Conjunction& conjunction) {
    RETURN_IF_ERROR(document_.spend(100));
    // No later choice could bring types back.
    if (types_of(conjunction) == 0u) return nothing();
    ASSIGN_OR_RETURN(const auto choices, first_choice(document_, conjunction));
    if (!choices) return make_values(conjunction);
    std::vector<GrammarNodeId> ways;
    for (const Conjunction& choice : *choices) {
      ASSIGN_OR_RETURN(const GrammarNodeId way, node_of(choice));
      ways.push_back(way);
    }
    return builder_.choice(std::move(ways));
  }

  // The types of the values: those that `conjunction` states, or else those that its keywords are
  // about; nullopt if it says nothing about types.
  static std::optional<uint32_t> value_types(const Conjunction& conjunction) {
    if (const auto stated = types_of(conjunction)) return stated;
    uint32_t implied = 0;
    for (const SchemaPart& part : conjunction.parts) implied |= implied_types(*part.schema);
    if (implied != 0) return implied;
    return conjunction.denials.empty() ? std::nullopt : std::optional(kAll);
  }

  Result<GrammarNodeId> make_values(const Conjunction& conjunction) {
    ASSIGN_OR_RETURN(const auto listed, values_.listed(conjunction));
    if (listed) return listed->empty() ? nothing() : pieces_.values(*listed);
    const auto stated = value_types(conjunction);
    if (!stated) return pieces_.any_value();
    const uint32_t types = *stated;
    RETURN_IF_ERROR(check_denied_structures(conjunction, types));
    std::vector<GrammarNodeId> ways;
    if (types & kObject) {
      ASSIGN_OR_RETURN(const GrammarNodeId object, make_object(conjunction));
      ways.push_back(object);
    }
    if (types & kArray) {
      ASSIGN_OR_RETURN(const GrammarNodeId array, make_array(conjunction));
      ways.push_back(array);
    }
    if (types & kString) {
      ASSIGN_OR_RETURN(const GrammarNodeId string, make_string(conjunction));
      ways.push_back(string);
    }
    if (types & (kFraction | kInteger)) {
      ASSIGN_OR_RETURN(const std::vector<NumberRange> ranges, values_.numbers(conjunction));
      for (const NumberRange& range : ranges) {
        ways.push_back(types & kFraction ? pieces_.number(range) : pieces_.integer(range));
      }
    }
    const auto constants = values_.constants(conjunction, types);
    if (!constants.empty()) ways.push_back(pieces_.values(constants));
    return builder_.choice(std::move(ways));
  }

  // Refuses schemas that deny objects or arrays as values: until such a value is complete, one
  // cannot see whether it is the denied one.
  Status check_denied_structures(const Conjunction& conjunction, uint32_t types) {
    for (const Denial& denial : conjunction.denials) {
      const char* const name = denial.keyword == "const" ? "const" : "enum";
      if (denial.keyword != name) continue;
      const OrderedJson& value = *keyword(*denial.schema, name);
      const auto is_denied = [&](const OrderedJson& one) {
        return one.is_structured() && (type_of(one) & types) != 0;
      };
      const bool any =
          denial.keyword == "const" ? is_denied(value) : std::ranges::any_of(value, is_denied);
      if (any) {
        return document_.error(*denial.schema, name,
                               "has an object or array, which cannot be denied");
      }
    }
    return {};
  }

  Result<GrammarNodeId> make_string(const Conjunction& conjunction) {
    ASSIGN_OR_RETURN(const SchemaTexts::Limits texts, texts_.limits(conjunction));
    if (texts.min > texts.max) return nothing();
    if (texts.only == nullptr) return pieces_.string(texts.min, texts.max);
    const std::tuple key = {texts.only, texts.min, texts.max};
    const auto known = strings_.find(key);
    if (known != strings_.end()) return known->second;
    GrammarNodeId node = 0;
    if (texts.min == 0 && texts.max == UINT32_MAX) {
      node = pieces_.string(*texts.only);
    } else {
      auto limited =
          limit_length(*texts.only, texts.min, texts.max, SchemaTexts::kStatesMax, work_);
      RETURN_IF_ERROR(document_.spend(0));
      if (!limited.ok()) {
        return document_.error(document_.entered(), "pattern", limited.error().message);
      }
      node = pieces_.string(*limited);
    }
    strings_.emplace(key, node);
    return node;
  }

  Result<GrammarNodeId> make_object(const Conjunction& conjunction) {
    ASSIGN_OR_RETURN(const ObjectShape shape,
                     shape_of_object(document_, texts_, values_, conjunction));
    const size_t count = shape.properties.size() + (shape.others.empty() ? 0 : 1);
    if (shape.min > shape.max || shape.min > count) return nothing();
    std::vector<JsonPieces::Property> properties;
    for (const ObjectShape::Property& property : shape.properties) {
      GrammarNodeId value = nothing();
      if (property.possible) {
        ASSIGN_OR_RETURN(value, node_of(property.value));
      }
      properties.push_back({property.name, value, property.required});
      if (builder_.full()) return nothing();
    }
    std::vector<JsonPieces::Others> others;
    for (const ObjectShape::Others& kind : shape.others) {
      ASSIGN_OR_RETURN(const GrammarNodeId value, node_of(kind.value));
      const GrammarNodeId name = kind.names ? pieces_.string(*kind.names) : pieces_.string();
      others.push_back({name, value});
    }
    return pieces_.object(properties, others, shape.min, shape.max);
  }

  Result<GrammarNodeId> make_array(const Conjunction& conjunction) {
    ASSIGN_OR_RETURN(const ArrayShape shape, shape_of_array(document_, values_, conjunction));
    if (shape.min > shape.max) return nothing();
    if (shape.distinct) return pieces_.array_of_distinct(*shape.distinct, shape.min, shape.max);
    std::vector<GrammarNodeId> first;
    for (const Conjunction& item : shape.first) {
      ASSIGN_OR_RETURN(const GrammarNodeId node, node_of(item));
      first.push_back(node);
    }
    std::optional<GrammarNodeId> others;
    if (shape.others) {
      ASSIGN_OR_RETURN(others, node_of(*shape.others));
    }
    return pieces_.array(first, others, shape.min, shape.max);
  }

  GrammarBuilder& builder_;
  JsonPieces& pieces_;
  SchemaDocument document_;
  size_t& work_;
  SchemaTexts texts_;
  SchemaValues values_;
  std::map<Conjunction, GrammarNodeId> nodes_;
  std::deque<std::pair<GrammarNodeId, Conjunction>> left_;  // nodes that are still to be made
  std::map<std::tuple<const CodePointDfa*, uint32_t, uint32_t>, GrammarNodeId> strings_;
};

}  // namespace

Result<GrammarNodeId> add_schema(GrammarBuilder& builder, JsonPieces& pieces,
                                 const OrderedJson& schema, std::string_view field, size_t& work) {
  return Compiler(builder, pieces, schema, field, work).compile();
}

}  // namespace cascade
