// The names of the kinds of grammars.
#include "base/grammar_kind.h"

#include "base/enum_table.h"

namespace cascade {
namespace {

constexpr EnumTable<GrammarKind, 3> kGrammarKinds = {{
    {GrammarKind::kJsonObject, "json_object"},
    {GrammarKind::kJsonSchema, "json_schema"},
    {GrammarKind::kParts, "parts"},
}};

}  // namespace

std::string_view to_string(GrammarKind kind) {
  return name_of(kGrammarKinds, kind);
}

std::optional<GrammarKind> grammar_kind_from_string(std::string_view name) {
  return value_of(kGrammarKinds, name);
}

}  // namespace cascade
