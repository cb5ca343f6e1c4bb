// Whether two schemas can both hold for one value.
#pragma once

#include <utility>
#include <vector>

#include "model/grammar/schema_document.h"

namespace cascade {

// The pairs of alternatives of `oneOf` in `schema` that might both hold. Only three things are
// compared: the types, listed values, and listed values of a property that both alternatives
// require. Errors: kInvalidArgument, as add_schema().
Result<std::vector<std::pair<size_t, size_t>>> overlapping_pairs(SchemaDocument& document,
                                                                 const OrderedJson& schema);

}  // namespace cascade
