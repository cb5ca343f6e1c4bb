// Patterns, formats, lengths and listed texts as one automaton.
#include "model/grammar/schema_texts.h"

#include <algorithm>

#include "model/grammar/formats.h"
#include "model/grammar/pattern.h"
#include "model/grammar/schema_choices.h"
#include "model/grammar/schema_keywords.h"

namespace cascade {
namespace {

using namespace schema_types;

const CodePointDfa& all_texts() {
  static const CodePointDfa all = all_texts_but({});
  return all;
}

uint32_t raised(uint32_t count) {
  return count == UINT32_MAX ? count : count + 1;
}

// The texts among the values that `schema` lists.
std::vector<std::u32string> listed_texts(const OrderedJson& schema, std::string_view name) {
  const OrderedJson& values = *keyword(schema, std::string(name).c_str());
  std::vector<std::u32string> texts;
  const auto add = [&](const OrderedJson& value) {
    if (value.is_string()) texts.push_back(to_code_points(value.get_ref<const std::string&>()));
  };
  if (name == "const") {
    add(values);
  } else {
    std::ranges::for_each(values, add);
  }
  return texts;
}

}  // namespace

struct SchemaTexts::Demands {
  struct Named {
    const OrderedJson* schema;
    std::string text;
  };
  uint32_t min = 0, max = UINT32_MAX;
  bool possible = true;
  std::vector<Named> patterns, formats, denied_patterns;
  std::vector<std::u32string> denied_texts;

  std::vector<std::string> key() const {
    std::vector<std::string> all;
    for (const Named& pattern : patterns) all.push_back("p" + pattern.text);
    for (const Named& format : formats) all.push_back("f" + format.text);
    for (const Named& pattern : denied_patterns) all.push_back("n" + pattern.text);
    for (const std::u32string& text : denied_texts) {
      all.emplace_back("t");
      for (const char32_t c : text) all.back() += std::to_string(static_cast<uint32_t>(c)) + " ";
    }
    return all;
  }
};

SchemaTexts::Demands SchemaTexts::demands_of(const Conjunction& conjunction) const {
  Demands demands;
  const auto add = [](std::vector<Demands::Named>& list, const OrderedJson& schema,
                      const char* name) {
    const OrderedJson* value = keyword(schema, name);
    if (value == nullptr) return;
    const auto& text = value->get_ref<const std::string&>();
    const bool known = std::ranges::find(list, text, &Demands::Named::text) != list.end();
    if (!known) list.push_back({&schema, text});
  };
  for (const SchemaPart& part : conjunction.parts) {
    const OrderedJson& schema = *part.schema;
    demands.min = std::max(demands.min, count_keyword(schema, "minLength").value_or(0));
    demands.max = std::min(demands.max, count_keyword(schema, "maxLength").value_or(UINT32_MAX));
    add(demands.patterns, schema, "pattern");
    add(demands.formats, schema, "format");
  }
  for (const Denial& denial : conjunction.denials) {
    const OrderedJson& schema = *denial.schema;
    if (denial.keyword == "pattern") add(demands.denied_patterns, schema, "pattern");
    if (denial.keyword == "maxLength") {
      demands.min = std::max(demands.min, raised(*count_keyword(schema, "maxLength")));
    } else if (denial.keyword == "minLength") {
      const uint32_t min = *count_keyword(schema, "minLength");
      demands.possible = demands.possible && min > 0;
      demands.max = std::min(demands.max, min - 1);
    } else if (denial.keyword == "const" || denial.keyword == "enum") {
      for (std::u32string& text : listed_texts(schema, denial.keyword)) {
        demands.denied_texts.push_back(std::move(text));
      }
    }
  }
  return demands;
}

Result<const CodePointDfa*> SchemaTexts::pattern(const OrderedJson& schema, const char* keyword,
                                                 const std::string& text) {
  const auto [found, added] = patterns_.try_emplace(text);
  if (added) {
    auto compiled = compile_pattern(text, work_);
    RETURN_IF_ERROR(document_.spend(0));
    if (!compiled.ok()) return document_.error(schema, keyword, compiled.error().message);
    found->second = *std::move(compiled);
  }
  return &found->second;
}

Result<const CodePointDfa*> SchemaTexts::whole_pattern(const OrderedJson& schema,
                                                       const char* keyword,
                                                       const std::string& text) {
  ASSIGN_OR_RETURN(const CodePointDfa* dfa, pattern(schema, keyword, text));
  if (dfa->complete) return dfa;
  return document_.error(schema, keyword,
                         "is too complex to tell what it does not match: it takes more than " +
                             std::to_string(kPatternDfaStatesMax) + " states, the limit");
}

Result<CodePointDfa> SchemaTexts::together(const OrderedJson& schema, const char* keyword,
                                           const CodePointDfa& a, const CodePointDfa& b,
                                           Combination how) {
  auto result = combined(a, b, how, kStatesMax, work_);
  RETURN_IF_ERROR(document_.spend(0));
  if (!result.ok()) return document_.error(schema, keyword, result.error().message);
  return result;
}

// Whether no text is of all the formats at once. False if finding out takes too many states.
Result<bool> SchemaTexts::formats_contradict(const Demands& demands) {
  std::optional<CodePointDfa> all;
  for (const Demands::Named& named : demands.formats) {
    const TextFormat* format = format_named(named.text);
    if (format == nullptr || !format->pattern) continue;
    ASSIGN_OR_RETURN(const CodePointDfa* dfa, pattern(*named.schema, "format", *format->pattern));
    if (!all) {
      all = *dfa;
      continue;
    }
    auto both = combined(*all, *dfa, Combination::kBoth, kStatesMax, work_);
    RETURN_IF_ERROR(document_.spend(0));
    if (!both.ok()) continue;
    all = *std::move(both);
    if (accepts_nothing(*all)) return true;
  }
  return false;
}

Status SchemaTexts::add_formats(const Demands& demands, std::optional<CodePointDfa>& all) {
  const bool beside_pattern = all.has_value();
  if (beside_pattern && demands.formats.size() > 1) {
    ASSIGN_OR_RETURN(const bool contradict, formats_contradict(demands));
    if (contradict) {
      all = these_texts({});
      return {};
    }
  }
  for (const Demands::Named& named : demands.formats) {
    const TextFormat* format = format_named(named.text);
    if (format == nullptr) {
      // An unknown format says what the text is for; the pattern says how it is written.
      if (!demands.patterns.empty()) continue;
      return document_.error(*named.schema, "format",
                             "is not a known format; give a pattern beside it, leave it out, or "
                             "use one of " +
                                 known_formats());
    }
    if (!format->pattern) continue;
    ASSIGN_OR_RETURN(const CodePointDfa* dfa, pattern(*named.schema, "format", *format->pattern));
    if (!all) {
      all = *dfa;
      continue;
    }
    auto together = combined(*all, *dfa, Combination::kBoth, kStatesMax, work_);
    RETURN_IF_ERROR(document_.spend(0));
    const bool usable = together.ok() && !accepts_nothing(*together);
    if (!usable && beside_pattern) continue;
    if (!together.ok()) {
      return document_.error(*named.schema, "format", together.error().message);
    }
    all = *std::move(together);
  }
  return {};
}

// Null if any text is allowed.
Result<const CodePointDfa*> SchemaTexts::combined_of(const Demands& demands) {
  std::vector<std::string> key = demands.key();
  if (key.empty()) return nullptr;
  if (const auto known = combined_.find(key); known != combined_.end()) return &known->second;
  std::optional<CodePointDfa> all;
  for (const Demands::Named& named : demands.patterns) {
    ASSIGN_OR_RETURN(const CodePointDfa* dfa, pattern(*named.schema, "pattern", named.text));
    if (!all) {
      all = *dfa;
    } else {
      ASSIGN_OR_RETURN(all, together(*named.schema, "pattern", *all, *dfa, Combination::kBoth));
    }
  }
  RETURN_IF_ERROR(add_formats(demands, all));
  for (const Demands::Named& named : demands.denied_patterns) {
    ASSIGN_OR_RETURN(const CodePointDfa* dfa, whole_pattern(*named.schema, "pattern", named.text));
    ASSIGN_OR_RETURN(all, together(*named.schema, "pattern", all ? *all : all_texts(), *dfa,
                                   Combination::kFirstAlone));
  }
  if (!demands.denied_texts.empty()) {
    const CodePointDfa texts = these_texts(demands.denied_texts);
    ASSIGN_OR_RETURN(all, together(document_.entered(), "not", all ? *all : all_texts(), texts,
                                   Combination::kFirstAlone));
  }
  // There are only formats that do not say how a text is written.
  if (!all) return nullptr;
  return &combined_.emplace(std::move(key), *std::move(all)).first->second;
}

Result<SchemaTexts::Limits> SchemaTexts::limits(const Conjunction& conjunction) {
  const Demands demands = demands_of(conjunction);
  ASSIGN_OR_RETURN(const CodePointDfa* only, combined_of(demands));
  const bool possible = demands.possible && (only == nullptr || !accepts_nothing(*only));
  if (!possible) return Limits{1, 0, nullptr};
  return Limits{demands.min, demands.max, only};
}

Result<bool> SchemaTexts::holds(const std::string& text, const OrderedJson& schema) {
  const std::u32string code_points = to_code_points(text);
  if (code_points.size() < count_keyword(schema, "minLength").value_or(0)) return false;
  if (code_points.size() > count_keyword(schema, "maxLength").value_or(UINT32_MAX)) return false;
  if (const OrderedJson* given = keyword(schema, "pattern")) {
    ASSIGN_OR_RETURN(const CodePointDfa* dfa, whole_pattern(schema, "pattern", *given));
    if (!dfa->accepts(code_points)) return false;
  }
  const OrderedJson* name = keyword(schema, "format");
  const TextFormat* format = name == nullptr ? nullptr : format_named(name->get<std::string>());
  if (format == nullptr || !format->pattern) return true;
  ASSIGN_OR_RETURN(const CodePointDfa* dfa,
                   pattern(schema, "format", format->broad.value_or(*format->pattern)));
  return dfa->accepts(code_points);
}

Result<bool> SchemaTexts::denies(const std::string& text, const Denial& denial) {
  const std::u32string code_points = to_code_points(text);
  const OrderedJson& schema = *denial.schema;
  if (denial.keyword == "minLength") {
    return code_points.size() < *count_keyword(schema, "minLength");
  }
  if (denial.keyword == "maxLength") {
    return code_points.size() > *count_keyword(schema, "maxLength");
  }
  ASSIGN_OR_RETURN(const CodePointDfa* dfa,
                   whole_pattern(schema, "pattern", *keyword(schema, "pattern")));
  return !dfa->accepts(code_points);
}

// language() of a conjunction without choices.
Result<std::optional<CodePointDfa>> SchemaTexts::plain_language(const Conjunction& conjunction) {
  const CodePointDfa nothing = these_texts({});
  if ((types_of(conjunction).value_or(kAll) & kString) == 0) return std::optional(nothing);
  std::optional<CodePointDfa> all;
  for (const SchemaPart& part : conjunction.parts) {
    for (const char* name : {"const", "enum"}) {
      if (keyword(*part.schema, name) == nullptr) continue;
      CodePointDfa listed = these_texts(listed_texts(*part.schema, name));
      if (!all) {
        all = std::move(listed);
      } else {
        ASSIGN_OR_RETURN(all, together(*part.schema, name, *all, listed, Combination::kBoth));
      }
    }
  }
  ASSIGN_OR_RETURN(const Limits texts, limits(conjunction));
  if (texts.min > texts.max) return std::optional(nothing);
  if (texts.only != nullptr) {
    ASSIGN_OR_RETURN(all, together(document_.entered(), "propertyNames", all ? *all : all_texts(),
                                   *texts.only, Combination::kBoth));
  }
  if (texts.min == 0 && texts.max == UINT32_MAX) return all;
  auto limited = limit_length(all ? *all : all_texts(), texts.min, texts.max, kStatesMax, work_);
  RETURN_IF_ERROR(document_.spend(0));
  if (!limited.ok()) {
    return document_.error(document_.entered(), "propertyNames", limited.error().message);
  }
  return std::optional(*std::move(limited));
}

Result<std::optional<CodePointDfa>> SchemaTexts::language(const Conjunction& conjunction) {
  std::optional<CodePointDfa> all = these_texts({});
  std::vector<Conjunction> left = {conjunction};
  while (!left.empty()) {
    RETURN_IF_ERROR(document_.spend(100));
    ASSIGN_OR_RETURN(const auto expanded, document_.expand(left.back()));
    left.pop_back();
    if (!expanded) continue;
    ASSIGN_OR_RETURN(auto choices, first_choice(document_, *expanded));
    if (choices) {
      left.insert(left.end(), std::make_move_iterator(choices->begin()),
                  std::make_move_iterator(choices->end()));
      continue;
    }
    ASSIGN_OR_RETURN(const auto one, plain_language(*expanded));
    if (!one) return std::optional<CodePointDfa>();
    ASSIGN_OR_RETURN(
        all, together(document_.entered(), "propertyNames", *all, *one, Combination::kEither));
  }
  return all;
}

}  // namespace cascade
