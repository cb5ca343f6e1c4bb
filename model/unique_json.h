// JSON in which an object may have every key only once, with a bound on the number of values.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

// Like parse_json, but a key that occurs twice in one object is an error, and so are more than
// `values_max` values (objects, arrays, strings, numbers, ...) in the whole document. Parsers keep
// either the first or the last of two equal keys, so a file with both means one thing to the tool
// that checked it and another to us. The bound is checked before a tree is built, where a value
// takes some 100 bytes, many times its text.
// Errors: kDataCorrupt, field = `what`.
Result<Json> parse_unique_json(std::string_view text, std::string_view what,
                               const JsonLimits& limits, size_t values_max);

}  // namespace cascade
