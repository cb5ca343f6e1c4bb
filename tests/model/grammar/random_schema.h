// Random JSON schemas with every keyword that grammars support.
#pragma once

#include "base/json.h"
#include "base/random.h"

namespace cascade::testing {

// A random schema. Most of them have documents that satisfy them. Patterns and texts are ASCII.
OrderedJson random_schema(Random& random);

}  // namespace cascade::testing
