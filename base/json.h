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
  size_t bytes_max = size_t{64} << 20;  // the tokenizer.json of a 250 k vocabulary has about 30 MB
  int depth_max = 64;                   // real configurations nest less than 10 deep
};

// Parses `text`. `what` names the document in errors ("config.json"). If an object has a key twice,
// the last value counts. Numbers that 64 bits cannot hold are kept exactly by the ordered form
// (exact_number.h); the other form rounds such integers to f64. Errors: kInvalidArgument if the
// text is too large, too deep, not JSON or not UTF-8 (with the byte offset). The ordered form,
// whose look-up of a key is linear, also refuses an object of more than 1,024 members.
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
