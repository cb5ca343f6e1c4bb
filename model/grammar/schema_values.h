// What schemas that hold together say of numbers, strings and listed values.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "model/grammar/code_points.h"
#include "model/grammar/numbers.h"
#include "model/grammar/schema_document.h"

namespace cascade {

class SchemaValues {
 public:
  SchemaValues(SchemaDocument& document, size_t& work) : document_(document), work_(work) {}

  NumberRange numbers(const Conjunction& parts) const;

  struct Texts {
    uint32_t min = 0;
    uint32_t max = UINT32_MAX;
    const CodePointDfa* pattern = nullptr;  // the document's; null: any
  };
  // Errors: as add_schema().
  Result<Texts> texts(const Conjunction& parts);

  // The values of enum or const for which all the rest holds; nullopt if nothing is listed.
  Result<std::optional<std::vector<OrderedJson>>> listed(const Conjunction& parts, uint32_t types);

 private:
  Result<const CodePointDfa*> pattern(const OrderedJson& schema, const char* name);
  Result<bool> holds(const OrderedJson& value, const OrderedJson& schema);
  Result<bool> text_holds(const std::string& text, const OrderedJson& schema);

  SchemaDocument& document_;
  size_t& work_;
  std::unordered_map<std::string, CodePointDfa> patterns_;  // by their text
};

}  // namespace cascade
