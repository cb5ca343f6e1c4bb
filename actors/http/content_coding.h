// Decodes the bodies of compressed requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "actors/http/request_parser.h"

namespace cascade::http {

// The codings that decode_body() knows, for the header Accept-Encoding.
inline constexpr char kContentCodings[] = "gzip, deflate";

// Whether a body with this Content-Encoding can be read: one of gzip, x-gzip, deflate and identity,
// in upper or lower case; or none ("").
bool is_known_coding(std::string_view coding);

// Decompresses the body into `out`, at most `bytes_max` bytes, so that a small body that expands to
// a large one takes no more memory. `coding`: see is_known_coding(). Errors: 413 for a larger body;
// 400 for one that does not have the coding, or ends too early.
std::optional<HttpError> decode_body(std::string_view coding, std::string_view body,
                                     size_t bytes_max, std::string& out);

}  // namespace cascade::http
