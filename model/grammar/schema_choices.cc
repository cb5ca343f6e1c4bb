// Makes one choice after another, because the chosen alternative may bring new choices.
#include "model/grammar/schema_choices.h"

#include <string>

#include "model/grammar/schema_keywords.h"
#include "model/grammar/schema_overlap.h"

namespace cascade {
namespace {

using Choices = std::vector<Conjunction>;

Choices choices_of(SchemaDocument& document, const Conjunction& conjunction, size_t index,
                   const char* name, uint32_t done) {
  const OrderedJson& schema = *conjunction.parts[index].schema;
  const OrderedJson& list = *keyword(schema, name);
  Choices choices;
  for (size_t i = 0; i < list.size(); ++i) {
    Conjunction& with = choices.emplace_back(conjunction);
    with.parts[index].done |= done;
    const std::string step = std::string(name) + "/" + std::to_string(i);
    with.parts.push_back({document.inner(schema, step, list[i])});
  }
  return choices;
}

// For each alternative, denies the others that might hold together with it.
Status tell_apart(SchemaDocument& document, const OrderedJson& schema, Choices& choices) {
  ASSIGN_OR_RETURN(const auto pairs, overlapping_pairs(document, schema));
  const OrderedJson& list = *keyword(schema, "oneOf");
  for (const auto& [a, b] : pairs) {
    for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
      const Denial denial = {&list[other]};
      Conjunction alone;
      alone.denials.push_back(denial);
      if (!document.expand(alone).ok()) {
        RETURN_IF_ERROR(document.spend(0));
        return document.error(schema, "oneOf",
                              "alternatives " + std::to_string(a) + " and " + std::to_string(b) +
                                  " might both hold; give them different types or different "
                                  "constants in a required property, or use anyOf");
      }
      choices[one].denials.push_back(denial);
    }
  }
  return {};
}

}  // namespace

Result<std::optional<Choices>> first_choice(SchemaDocument& document,
                                            const Conjunction& conjunction) {
  for (size_t i = 0; i < conjunction.parts.size(); ++i) {
    const SchemaPart& part = conjunction.parts[i];
    const auto is_left = [&](const char* name, uint32_t done) {
      return (part.done & done) == 0 && keyword(*part.schema, name) != nullptr;
    };
    if (is_left("anyOf", SchemaPart::kAnyOf)) {
      return std::optional(choices_of(document, conjunction, i, "anyOf", SchemaPart::kAnyOf));
    }
    if (is_left("oneOf", SchemaPart::kOneOf)) {
      Choices choices = choices_of(document, conjunction, i, "oneOf", SchemaPart::kOneOf);
      RETURN_IF_ERROR(tell_apart(document, *part.schema, choices));
      return std::optional(std::move(choices));
    }
  }
  for (size_t i = 0; i < conjunction.denials.size(); ++i) {
    const Denial& denial = conjunction.denials[i];
    if (!denial.keyword.empty()) continue;
    ASSIGN_OR_RETURN(const std::vector<Denial> ways, document.ways_to_deny(*denial.schema));
    Choices choices;
    for (const Denial& way : ways) choices.emplace_back(conjunction).denials[i] = way;
    return std::optional(std::move(choices));
  }
  return std::optional<Choices>();
}

}  // namespace cascade
