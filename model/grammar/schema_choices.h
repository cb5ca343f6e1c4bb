// Where what holds together leaves a choice: anyOf, oneOf, and schemas that can be denied in
// several ways.
#pragma once

#include <optional>
#include <vector>

#include "model/grammar/schema_document.h"

namespace cascade {

// The alternatives of the first choice in `conjunction`, which expand() has made, each to be
// expanded again; nullopt if there is none left. Alternatives of oneOf that might hold together
// deny each other. Errors: as add_schema().
Result<std::optional<std::vector<Conjunction>>> first_choice(SchemaDocument& document,
                                                             const Conjunction& conjunction);

}  // namespace cascade
