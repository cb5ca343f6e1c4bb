// Gets the ranges from PCRE2's tables: a walk over all code points finds them, once for each name.
#include "model/grammar/character_properties.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/regex.h"

namespace cascade {
namespace {

using Set = std::vector<CodePointRange>;

// How many sets to keep: room for all properties that exist, with some hundred ranges each. A
// property may be kept more than once, because PCRE2 takes more than one spelling of its name.
constexpr size_t kKeptMax = 1000;

// ECMAScript also takes the long names of general categories, PCRE2 only the short ones.
constexpr std::pair<std::string_view, std::string_view> kCategories[] = {
    {"Letter", "L"},
    {"Cased_Letter", "L&"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"Format", "Cf"},
    {"Unassigned", "Cn"},
};

// PCRE2's name for the property; nullopt if `property` is not a name.
std::optional<std::string> pcre2_name(std::string_view property) {
  for (const std::string_view category : {"General_Category=", "gc="}) {
    if (property.starts_with(category)) property.remove_prefix(category.size());
  }
  for (const auto& [name, known] : kCategories) {
    if (property == name) return std::string(known);
  }
  for (const auto& [name, known] : {std::pair<std::string_view, std::string_view>{"Script=", "sc="},
                                    {"Script_Extensions=", "scx="}}) {
    if (property.starts_with(name)) {
      return std::string(known) + std::string(property.substr(name.size()));
    }
  }
  const bool is_name = !property.empty() && std::ranges::all_of(property, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '=';
  });
  return is_name ? std::optional(std::string(property)) : std::nullopt;
}

std::string all_code_points() {
  std::string text;
  text.reserve(size_t{4} * kCodePointMax);
  for (uint32_t c = 0; c <= kCodePointMax; ++c) {
    if (c < 0xD800 || c > 0xDFFF) utf8_append(text, c);
  }
  return text;
}

// The code points that match `pattern`, a PCRE2 pattern for a single code point.
std::optional<Set> look_up(const std::string& pattern) {
  const auto regex = TokenizerRegex::compile(pattern + "+", "property");
  if (!regex.ok()) return std::nullopt;
  const std::string text = all_code_points();
  // The pattern is our own, so the budget has room for any machine.
  TextBudget budget(100 * text.size());
  RegexScratch scratch(budget);
  TokenizerRegex::Matches matches(*regex, text, scratch);
  Set set;
  for (;;) {
    const auto match = matches.next();
    if (!match.ok()) return std::nullopt;
    if (!match->has_value()) return set;
    // A match is a run of code points; only its first and its last one are decoded. The range
    // between them may include the surrogates, which are in no text.
    size_t last = (*match)->end - 1;
    while ((static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    set.push_back({utf8_decode(text, (*match)->begin).value, utf8_decode(text, last).value});
  }
}

std::string pattern_of(const std::string& name, PropertyOf which) {
  const std::string property = "\\p{" + name + "}";
  if (which == PropertyOf::kPerhaps) return "[" + property + "\\p{Cn}]";
  // Newer versions of Unicode took this property away from characters that are not emoji.
  const bool pictures = name == "Extended_Pictographic" || name == "ExtPict";
  return pictures ? "(?:(?=" + property + ")\\p{Emoji})" : property;
}

}  // namespace

std::optional<Set> characters_with(std::string_view property, PropertyOf which) {
  static std::mutex mutex;
  static std::map<std::string, Set> known;
  const auto name = pcre2_name(property);
  if (!name) return std::nullopt;
  const std::string pattern = pattern_of(*name, which);
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(pattern); found != known.end()) return found->second;
  auto set = look_up(pattern);
  if (set && known.size() < kKeptMax) known.emplace(pattern, *set);
  return set;
}

}  // namespace cascade
