// Template source -> tokens. Comments, raw blocks and whitespace control end here.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/jinja/token.h"

namespace cascade::jinja {

// The tokens of `source`, the last one kEnd. trim_blocks and lstrip_blocks are on,
// keep_trailing_newline is off: the newline after a block or comment is removed, and so is the
// whitespace before one that starts its line; "-" strips all whitespace on its side, "+" keeps it.
// Precondition: `source` is UTF-8. Errors: template_error with its line (at_line).
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace cascade::jinja
