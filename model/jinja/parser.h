// Tokens -> syntax tree: statements here, expressions in expression_parser.h.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/chat_template.h"
#include "model/jinja/ast.h"

namespace cascade::jinja {

// Parses a template. Errors (kInvalidArgument, field "chat_template"): too many bytes, not UTF-8;
// with "line N: " in front: source that is not Jinja or not in the supported subset, and nesting
// beyond limits.recursion_max.
Result<Template> parse_template(std::string_view source, const TemplateLimits& limits);

}  // namespace cascade::jinja
