// Bodies of requests that were compressed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "actors/http/request_parser.h"

namespace cascade::http {

// What decoded() knows, for the header Accept-Encoding.
inline constexpr char kContentCodings[] = "gzip, deflate";

// Whether a body with this Content-Encoding can be read: gzip, x-gzip, deflate or identity, in any
// case; one of them; or none ("").
bool is_known_coding(std::string_view coding);

// The body as it was before it was compressed, in `out`; at most `bytes_max` bytes of it are made,
// so a small body that stands for a large one takes no more. `coding`: see is_known_coding().
// Errors: 413 for what is larger; 400 for what is not of the coding, or ends too early.
std::optional<HttpError> decode_body(std::string_view coding, std::string_view body,
                                     size_t bytes_max, std::string& out);

}  // namespace cascade::http
