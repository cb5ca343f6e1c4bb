// Whether two schemas can both hold for one value.
#pragma once

#include "model/grammar/schema_document.h"

namespace cascade {

// Of the alternatives of `oneOf` in `schema` none two may hold together, by what can be seen of
// them: their types, listed values, or listed values of a property that both require.
// Errors: kInvalidArgument, as add_schema(), if that cannot be seen.
Status check_one_of(SchemaDocument& document, const OrderedJson& schema);

}  // namespace cascade
