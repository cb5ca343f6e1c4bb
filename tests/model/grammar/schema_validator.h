// A validator of JSON Schema for tests, written from the specification and independent of the
// grammars.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace cascade::testing {

// Whether a format must hold, or only annotates a text, as in the specification.
enum class Formats { kHold, kAnnotate };

// Empty if `document` satisfies `schema`; otherwise what does not hold. Knows the keywords that
// random_schema() and the tests' own schemas use; any other keyword is a failure.
std::string violation(const Json& document, const OrderedJson& schema,
                      Formats formats = Formats::kHold);

// Like violation(), for random schemas. In these, a format may have no text in common with a
// pattern of another sub-schema; then the format does not hold (docs/constrained_output.md).
// `without_formats` counts such documents.
std::string violation_but_formats(const Json& document, const OrderedJson& schema,
                                  int& without_formats);

}  // namespace cascade::testing
