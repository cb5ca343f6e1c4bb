// The limits that several schemas, all of which must hold, set to a text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/grammar/code_points.h"
#include "model/grammar/schema_document.h"

namespace cascade {

class SchemaTexts {
 public:
  // The largest number of states of several patterns together, or of a pattern with limits of
  // length.
  static constexpr size_t kStatesMax = 16'000;

  SchemaTexts(SchemaDocument& document, size_t& work) : document_(document), work_(work) {}

  struct Limits {
    uint32_t min = 0;
    uint32_t max = UINT32_MAX;
    const CodePointDfa* only = nullptr;  // belongs to this object: the texts allowed; null: all
  };
  // The limits of a text for which `conjunction` holds, apart from listed values. All patterns
  // apply. A format beside a pattern applies too, unless we know of no text that matches both, or
  // the two take too many states together. Formats that contradict each other allow no text.
  // Errors: as add_schema().
  Result<Limits> limits(const Conjunction& conjunction);

  // Whether one schema holds for a given text, apart from what it refers to. Errors: as
  // add_schema().
  Result<bool> holds(const std::string& text, const OrderedJson& schema);
  // Whether a given text satisfies a denial of a text's keyword.
  Result<bool> denies(const std::string& text, const Denial& denial);

  // All texts for which `conjunction` holds; nullopt: any text. `conjunction` need not be expanded.
  // Errors: as add_schema().
  Result<std::optional<CodePointDfa>> language(const Conjunction& conjunction);

  // The automaton of the pattern `text`, the value of `keyword` in `schema`. It belongs to this
  // object.
  Result<const CodePointDfa*> pattern(const OrderedJson& schema, const char* keyword,
                                      const std::string& text);
  // The same automaton, which also tells which texts do not match: an error if it is not complete.
  Result<const CodePointDfa*> whole_pattern(const OrderedJson& schema, const char* keyword,
                                            const std::string& text);

  // combined(); its error names `keyword` of `schema`.
  Result<CodePointDfa> together(const OrderedJson& schema, const char* keyword,
                                const CodePointDfa& a, const CodePointDfa& b, Combination how);

 private:
  struct Demands;
  Demands demands_of(const Conjunction& conjunction) const;
  Result<const CodePointDfa*> combined_of(const Demands& demands);
  Result<bool> formats_contradict(const Demands& demands);
  Status add_formats(const Demands& demands, std::optional<CodePointDfa>& all);
  Result<std::optional<CodePointDfa>> plain_language(const Conjunction& conjunction);

  SchemaDocument& document_;
  size_t& work_;
  std::unordered_map<std::string, CodePointDfa> patterns_;     // the key is the text of the pattern
  std::map<std::vector<std::string>, CodePointDfa> combined_;  // the key is what is demanded
};

}  // namespace cascade
