// What schemas that hold together say of a text.
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
  // Of patterns together, and of a pattern with limits of length.
  static constexpr size_t kStatesMax = 16'000;

  SchemaTexts(SchemaDocument& document, size_t& work) : document_(document), work_(work) {}

  struct Limits {
    uint32_t min = 0;
    uint32_t max = UINT32_MAX;
    const CodePointDfa* only = nullptr;  // belongs to this object; null: any
  };
  // The limits of a text for which `conjunction` holds, apart from listed values. All patterns
  // hold. A format beside a pattern holds too, unless the two have no text in common that we know
  // of, or take too many states together; formats that contradict each other allow no text. Errors:
  // as add_schema().
  Result<Limits> limits(const Conjunction& conjunction);

  // Whether one schema holds for a given text, apart from what it refers to. Errors: as
  // add_schema().
  Result<bool> holds(const std::string& text, const OrderedJson& schema);
  // Whether a given text is not what a denial of a text's keyword denies.
  Result<bool> denies(const std::string& text, const Denial& denial);

  // All texts for which `conjunction` holds, which need not be expanded; nullopt: any. Errors: as
  // add_schema().
  Result<std::optional<CodePointDfa>> language(const Conjunction& conjunction);

  // The pattern `text`, which stands in `schema` as `keyword`; belongs to this object.
  Result<const CodePointDfa*> pattern(const OrderedJson& schema, const char* keyword,
                                      const std::string& text);
  // The same, complete: so that it tells of a text that it does not match it.
  Result<const CodePointDfa*> whole_pattern(const OrderedJson& schema, const char* keyword,
                                            const std::string& text);

  // combined(), whose error names `keyword` of `schema`.
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
  std::unordered_map<std::string, CodePointDfa> patterns_;     // by their text
  std::map<std::vector<std::string>, CodePointDfa> combined_;  // by what is demanded
};

}  // namespace cascade
