// JSON (nlohmann) with the limits that hostile input needs, and typed access that names the field.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade {

using Json = nlohmann::json;
// Keeps the order of keys, as Python's dict does; for values that a chat template prints.
using OrderedJson = nlohmann::ordered_json;

struct JsonLimits {
  size_t bytes_max = size_t{64} << 20;  // tokenizer.json of a 250 k vocabulary has some 30 MB
  int depth_max = 64;                   // real configurations nest under 10 deep
};

// Parses `text`. `what` names the document in errors ("config.json").
// Errors: kInvalidArgument if too large, too deep, not JSON or not UTF-8 (with the byte offset);
// for the ordered form, whose look-up of a key is linear, also an object of more than 1,024
// members. Of a key that an object has twice, the last value counts. The ordered form keeps
// numbers that 64 bits do not hold (exact_number.h); the other rounds integers to f64.
Result<Json> parse_json(std::string_view text, std::string_view what, const JsonLimits& = {});
Result<OrderedJson> parse_ordered_json(std::string_view text, std::string_view what,
                                       const JsonLimits& = {});

// Typed access to a member of an object. `required_*`: the member must be there.
// `optional_*`: absent or null gives `fallback`. A member of another type, a number that is not a
// whole number (for int), or one outside [min, max] is kInvalidArgument with the key as field.
Result<int64_t> required_int(const Json& object, std::string_view key, int64_t min, int64_t max);
Result<int64_t> optional_int(const Json& object, std::string_view key, int64_t min, int64_t max,
                             int64_t fallback);
Result<double> required_number(const Json& object, std::string_view key, double min, double max);
Result<double> optional_number(const Json& object, std::string_view key, double min, double max,
                               double fallback);
Result<bool> optional_bool(const Json& object, std::string_view key, bool fallback);
Result<std::string> required_string(const Json& object, std::string_view key);
Result<std::string> optional_string(const Json& object, std::string_view key,
                                    std::string_view fallback);

}  // namespace cascade
