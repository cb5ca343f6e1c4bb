// What arrays are for which schemas hold together.
#pragma once

#include <optional>
#include <vector>

#include "model/grammar/schema_document.h"
#include "model/grammar/schema_values.h"

namespace cascade {

struct ArrayShape {
  std::vector<Conjunction> first;     // each
  std::optional<Conjunction> others;  // behind them; nullopt: there are none
  uint32_t min = 0;
  uint32_t max = UINT32_MAX;
  // Of an array whose items are all different, if they would not be so by themselves: what they
  // may be. Then there are no `first`.
  std::optional<std::vector<OrderedJson>> distinct;
};

// Errors: as add_schema().
Result<ArrayShape> shape_of_array(SchemaDocument& document, SchemaValues& values,
                                  const Conjunction& conjunction);

}  // namespace cascade
