// The choices that are left where schemas hold together: anyOf, oneOf, and schemas that can be
// denied in several ways.
#pragma once

#include <optional>
#include <vector>

#include "model/grammar/schema_document.h"

namespace cascade {

// The alternatives of the first choice in `conjunction`; nullopt if no choice is left.
// `conjunction` comes from expand(), and each alternative is to be expanded again. Alternatives of
// oneOf that might hold together deny each other. Errors: as add_schema().
Result<std::optional<std::vector<Conjunction>>> first_choice(SchemaDocument& document,
                                                             const Conjunction& conjunction);

}  // namespace cascade
