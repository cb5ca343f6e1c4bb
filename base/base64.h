// Base64 (RFC 4648, with padding), by OpenSSL.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cascade {

std::string base64_encode(std::span<const uint8_t> bytes);

// Errors: kInvalidArgument (field "base64") if `text` is not padded base64 without line breaks.
Result<std::vector<uint8_t>> base64_decode(std::string_view text);

}  // namespace cascade
