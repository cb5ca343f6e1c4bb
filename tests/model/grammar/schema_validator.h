// A validator of JSON Schema for tests, written from the specification and not from the grammars.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace cascade::testing {

// Whether a format has to hold, or says what a text is for and no more, as in the specification.
enum class Formats { kHold, kAnnotate };

// Empty if `schema` holds for `document`, else what does not. Knows what random_schema() makes and
// what the tests' own schemas have; another keyword is a failure.
std::string violation(const Json& document, const OrderedJson& schema,
                      Formats formats = Formats::kHold);

}  // namespace cascade::testing
