// Typed reading of a model folder's JSON beyond base/json.h: open ranges, and keys in two places.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

// The member `key` of `object`; null if it is absent or null, or if `object` is not an object.
// Valid as long as `object`.
const Json* find_field(const Json& object, std::string_view key);

// A number in (above, max]; nullopt if the member is absent or null. Errors: kInvalidArgument,
// field = key.
Result<std::optional<double>> number_above(const Json& object, std::string_view key, double above,
                                           double max);

// The same for a key that two generations of the format put in two places. If both places have it,
// their values must agree: old and new programs read different places, so a difference is an error
// (kInvalidArgument, field = key).
Result<std::optional<double>> agreed_number_above(const Json& inner, const Json& outer,
                                                  std::string_view key, double above, double max);

// `text` in quotes with JSON's escapes, cut after 64 bytes: safe to put in an error message.
std::string quote_text(std::string_view text);

}  // namespace cascade
