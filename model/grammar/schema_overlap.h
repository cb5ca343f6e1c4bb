// Whether two schemas can both hold for one value.
#pragma once

#include <utility>
#include <vector>

#include "model/grammar/schema_document.h"

namespace cascade {

// The pairs of alternatives of `oneOf` in `schema` that might hold together. It looks only at their
// types, at listed values, and at listed values of a property that both require. Errors:
// kInvalidArgument, as add_schema().
Result<std::vector<std::pair<size_t, size_t>>> overlapping_pairs(SchemaDocument& document,
                                                                 const OrderedJson& schema);

}  // namespace cascade
