// Errors of the template engine, and how they get their line.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade::jinja {

inline constexpr std::string_view kErrorField = "chat_template";

// A mistake in the template, or a value that does not fit an operation. It has no field and no line
// yet: the parser or interpreter, which knows the line, adds both with at_line().
Error template_error(std::string message);

// A limit of TemplateLimits is reached (kResourceExhausted); no field yet, as above.
Error limit_error(std::string message);

// The error of raise_exception(message): final, without a line.
Error raised_error(std::string message);

// `error` with "line <line>: " in front and the field set, unless it has them already.
Error at_line(Error error, int line);

// `error` with the field set, but no line, because it is not about a line.
Error without_line(Error error);

// `name` in single quotes, cut to 64 bytes: names in errors may come from a client.
std::string in_quotes(std::string_view name);

}  // namespace cascade::jinja
