// Random JSON schemas of all that grammars know.
#pragma once

#include "base/json.h"
#include "base/random.h"

namespace cascade::testing {

// A schema; most have documents. Patterns and texts are ASCII.
OrderedJson random_schema(Random& random);

}  // namespace cascade::testing
