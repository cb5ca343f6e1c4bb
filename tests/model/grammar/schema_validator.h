// A validator of JSON Schema for tests, written from the specification and not from the grammars.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace cascade::testing {

// Whether a format has to hold, or only says what a text is for, as in the specification.
enum class Formats { kHold, kAnnotate };

// Empty if `schema` holds for `document`, else what does not. Knows what random_schema() makes and
// what the tests' own schemas have; another keyword is a failure.
std::string violation(const Json& document, const OrderedJson& schema,
                      Formats formats = Formats::kHold);

// As violation(), for schemas at random: a format may have no text in common with a pattern of
// another sub-schema, and does not hold then (docs/constrained_output.md). Counts those documents.
std::string violation_but_formats(const Json& document, const OrderedJson& schema,
                                  int& without_formats);

}  // namespace cascade::testing
