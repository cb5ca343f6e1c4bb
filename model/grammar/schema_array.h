// The shape of the arrays for which a set of schemas holds.
#pragma once

#include <optional>
#include <vector>

#include "model/grammar/schema_document.h"
#include "model/grammar/schema_values.h"

namespace cascade {

struct ArrayShape {
  std::vector<Conjunction> first;     // one for each of the first items
  std::optional<Conjunction> others;  // the items after them; nullopt: there are none
  uint32_t min = 0;
  uint32_t max = UINT32_MAX;
  // The values that items may have, if all items must be different and nothing else makes them so.
  // Then `first` is not used.
  std::optional<std::vector<OrderedJson>> distinct;
};

// Errors: as add_schema().
Result<ArrayShape> shape_of_array(SchemaDocument& document, SchemaValues& values,
                                  const Conjunction& conjunction);

}  // namespace cascade
