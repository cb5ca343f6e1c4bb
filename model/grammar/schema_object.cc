// For each property name, a schema demands the schema of that property and the schemas of the
// patterns that the name matches; if there are none, the schema of additional properties. Each
// schema of the conjunction does this separately, and all of these demands hold.
#include "model/grammar/schema_object.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "model/grammar/schema_keywords.h"

namespace cascade {
namespace {

// The largest number of sets of names that patterns tell apart.
constexpr size_t kKindsMax = 64;

class Shaper {
 public:
  Shaper(SchemaDocument& document, SchemaTexts& texts, SchemaValues& values,
         const Conjunction& conjunction)
      : document_(document), texts_(texts), values_(values), conjunction_(conjunction) {}

  Result<ObjectShape> shape() {
    RETURN_IF_ERROR(add_patterns());
    RETURN_IF_ERROR(add_names());
    said_ = !names_.empty() || !patterns_.empty();
    add_denials();
    RETURN_IF_ERROR(add_languages());
    bool few = false;
    ASSIGN_OR_RETURN(few, add_few_names());
    for (const std::string& name : names_) RETURN_IF_ERROR(add_property(name));
    if (!few) RETURN_IF_ERROR(add_others());
    RETURN_IF_ERROR(add_counts());
    return std::move(shape_);
  }

 private:
  struct Pattern {
    std::string text;
    const CodePointDfa* dfa;
  };
  // The names that match the patterns in `matched` and no others; `names` is nullopt for any name.
  struct Kind {
    std::optional<CodePointDfa> names;
    std::unordered_set<std::string> matched;
  };

  Status add_patterns() {
    for (const SchemaPart& part : conjunction_.parts) {
      const OrderedJson* list = keyword(*part.schema, "patternProperties");
      if (list == nullptr) continue;
      for (const auto& [text, schema] : list->items()) {
        RETURN_IF_ERROR(document_.spend(10 + patterns_.size()));
        if (std::ranges::find(patterns_, text, &Pattern::text) != patterns_.end()) continue;
        ASSIGN_OR_RETURN(const CodePointDfa* dfa,
                         texts_.whole_pattern(*part.schema, "patternProperties", text));
        patterns_.push_back({text, dfa});
      }
    }
    return {};
  }

  void add_name(const std::string& name) {
    if (known_.insert(name).second) names_.push_back(name);
  }

  // Adds the names in `properties`, in order, and after them the required names that are not
  // described.
  Status add_names() {
    for (const SchemaPart& part : conjunction_.parts) {
      const OrderedJson* properties = keyword(*part.schema, "properties");
      if (properties == nullptr) continue;
      RETURN_IF_ERROR(document_.spend(properties->size() * 10));
      for (const auto& [name, schema] : properties->items()) add_name(name);
    }
    for (const SchemaPart& part : conjunction_.parts) {
      const OrderedJson* list = keyword(*part.schema, "required");
      if (list == nullptr) continue;
      RETURN_IF_ERROR(document_.spend(list->size() * 10));
      for (const OrderedJson& name : *list) {
        required_.insert(name.get<std::string>());
        add_name(name);
      }
    }
    return {};
  }

  // Adds the names that an object must not have, and the names that it must have with a value that
  // does not match its schema.
  void add_denials() {
    for (const Denial& denial : conjunction_.denials) {
      const OrderedJson& schema = *denial.schema;
      if (denial.keyword == "required") {
        const std::string name = (*keyword(schema, "required"))[denial.index];
        add_name(name);
        forbidden_.insert(name);
      } else if (denial.keyword == "properties") {
        auto member = keyword(schema, "properties")->begin();
        std::advance(member, static_cast<ptrdiff_t>(denial.index));
        add_name(member.key());
        required_.insert(member.key());
        denied_values_[member.key()].push_back({document_.property(schema, member.key())});
      } else if (denial.keyword == "minProperties") {
        const uint32_t min = count_keyword(schema, "minProperties").value_or(0);
        shape_.max = std::min(shape_.max, min == 0 ? 0 : min - 1);
        if (min == 0) shape_.min = 1;  // no object has fewer than 0 properties
      }
    }
  }

  // Adds what propertyNames says.
  Status add_languages() {
    for (const SchemaPart& part : conjunction_.parts) {
      const OrderedJson* schema = keyword(*part.schema, "propertyNames");
      if (schema == nullptr) continue;
      const Conjunction names = {{{document_.inner(*part.schema, "propertyNames", *schema)}}, {}};
      ASSIGN_OR_RETURN(auto language, texts_.language(names));
      if (language) languages_.push_back(*std::move(language));
      if (few_) continue;
      ASSIGN_OR_RETURN(few_, values_.few_values(names));
    }
    return {};
  }

  bool is_name(const std::string& name) const {
    const std::u32string text = to_code_points(name);
    return std::ranges::all_of(languages_,
                               [&](const CodePointDfa& dfa) { return dfa.accepts(text); });
  }

  std::unordered_set<std::string> patterns_of(const std::string& name) const {
    const std::u32string text = to_code_points(name);
    std::unordered_set<std::string> matched;
    for (const Pattern& pattern : patterns_) {
      if (pattern.dfa->accepts(text)) matched.insert(pattern.text);
    }
    return matched;
  }

  // If propertyNames allows only a list of names, adds those of them that an object may have; no
  // other names are possible then. False if there is no such list.
  Result<bool> add_few_names() {
    if (!few_) return false;
    for (const OrderedJson& value : *few_) {
      if (!value.is_string()) continue;
      const auto& name = value.get_ref<const std::string&>();
      RETURN_IF_ERROR(document_.spend(10 + patterns_.size()));
      if (may_be_other(patterns_of(name))) add_name(name);
    }
    return true;
  }

  // Whether an object may have names that `properties` does not list and that match the patterns
  // `matched`. If no pattern and no additionalProperties is about such names, the object may have
  // them only if the schemas name no property and no pattern.
  bool may_be_other(const std::unordered_set<std::string>& matched) const {
    return !matched.empty() || !said_ ||
           std::ranges::any_of(conjunction_.parts, [](const SchemaPart& part) {
             return keyword(*part.schema, "additionalProperties") != nullptr;
           });
  }

  // The schemas for the value of the property `name`, which matches the patterns `matched`. A null
  // `name` stands for any name that `properties` does not list.
  Conjunction value_of(const std::string* name, const std::unordered_set<std::string>& matched) {
    Conjunction value;
    for (const SchemaPart& part : conjunction_.parts) {
      const OrderedJson& schema = *part.schema;
      bool described = false;
      const auto add = [&](const OrderedJson* inner) {
        value.parts.push_back({inner});
        described = true;
      };
      if (const OrderedJson* own = name == nullptr ? nullptr : document_.property(schema, *name)) {
        add(own);
      }
      if (const OrderedJson* list = keyword(schema, "patternProperties")) {
        for (const auto& [text, inner] : list->items()) {
          if (matched.contains(text))
            add(document_.inner(schema, "patternProperties/" + text, inner));
        }
      }
      const OrderedJson* others = keyword(schema, "additionalProperties");
      if (!described && others != nullptr) {
        add(document_.inner(schema, "additionalProperties", *others));
      }
    }
    return value;
  }

  Status add_property(const std::string& name) {
    RETURN_IF_ERROR(document_.spend(conjunction_.parts.size() * 10 + patterns_.size()));
    ObjectShape::Property& property = shape_.properties.emplace_back();
    property.name = name;
    property.required = required_.contains(name);
    property.possible = !forbidden_.contains(name) && is_name(name);
    property.value = value_of(&name, patterns_of(name));
    if (const auto denied = denied_values_.find(name); denied != denied_values_.end()) {
      property.value.denials = denied->second;
    }
    return {};
  }

  Result<CodePointDfa> split(const CodePointDfa& names, const CodePointDfa& pattern,
                             Combination how) {
    return texts_.together(document_.entered(), "patternProperties", names, pattern, how);
  }

  Status add_others() {
    Kind all;
    if (!names_.empty()) {
      std::vector<std::u32string> names;
      for (const std::string& name : names_) names.push_back(to_code_points(name));
      all.names = all_texts_but(names);
    }
    for (const CodePointDfa& language : languages_) {
      if (!all.names) {
        all.names = language;
      } else {
        ASSIGN_OR_RETURN(all.names, split(*all.names, language, Combination::kBoth));
      }
    }
    std::vector<Kind> kinds = {std::move(all)};
    for (const Pattern& pattern : patterns_) RETURN_IF_ERROR(divide(kinds, pattern));
    for (Kind& kind : kinds) {
      if (kind.names && accepts_nothing(*kind.names)) continue;
      if (!may_be_other(kind.matched)) continue;
      // If no value is possible after the names, they are left out: they would take states for each
      // of their letters.
      Conjunction value = value_of(nullptr, kind.matched);
      ASSIGN_OR_RETURN(const auto possible, document_.expand(value));
      if (possible) shape_.others.push_back({std::move(kind.names), std::move(value)});
    }
    return {};
  }

  // Divides each kind into the names that match the pattern and those that do not.
  Status divide(std::vector<Kind>& kinds, const Pattern& pattern) {
    const CodePointDfa any = all_texts_but({});
    std::vector<Kind> divided;
    for (const Kind& kind : kinds) {
      const CodePointDfa& names = kind.names ? *kind.names : any;
      for (const Combination how : {Combination::kBoth, Combination::kFirstAlone}) {
        Kind part = {{}, kind.matched};
        ASSIGN_OR_RETURN(part.names, split(names, *pattern.dfa, how));
        if (how == Combination::kBoth) part.matched.insert(pattern.text);
        if (!accepts_nothing(*part.names)) divided.push_back(std::move(part));
      }
    }
    if (divided.size() > kKindsMax) {
      return document_.error(
          document_.entered(), "patternProperties",
          "the patterns overlap in more ways than the limit of " + std::to_string(kKindsMax));
    }
    kinds = std::move(divided);
    return {};
  }

  Status add_counts() {
    for (const SchemaPart& part : conjunction_.parts) {
      const OrderedJson& schema = *part.schema;
      shape_.min = std::max(shape_.min, count_keyword(schema, "minProperties").value_or(0));
      shape_.max =
          std::min(shape_.max, count_keyword(schema, "maxProperties").value_or(UINT32_MAX));
      const size_t held = shape_.properties.size() + (shape_.others.empty() ? 0 : 1);
      if (shape_.min > held && !shape_.others.empty()) {
        return document_.error(schema, "minProperties",
                               "can be held only up to the number of the names that are known and "
                               "one more, which is " +
                                   std::to_string(held) + "; name them in properties");
      }
    }
    return {};
  }

  SchemaDocument& document_;
  SchemaTexts& texts_;
  SchemaValues& values_;
  const Conjunction& conjunction_;
  ObjectShape shape_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> known_;  // the same names, for look-up
  std::unordered_set<std::string> required_, forbidden_;
  std::unordered_map<std::string, std::vector<Denial>> denied_values_;
  std::vector<Pattern> patterns_;
  bool said_ = false;  // the schemas name properties or patterns
  std::vector<CodePointDfa> languages_;
  std::optional<std::vector<OrderedJson>> few_;
};

}  // namespace

Result<ObjectShape> shape_of_object(SchemaDocument& document, SchemaTexts& texts,
                                    SchemaValues& values, const Conjunction& conjunction) {
  return Shaper(document, texts, values, conjunction).shape();
}

}  // namespace cascade
