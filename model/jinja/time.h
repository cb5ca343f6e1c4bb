// strftime_now(): the time of the rendering as text.
#pragma once

#include <cstdint>

#include "model/jinja/text.h"
#include "model/jinja/value.h"

namespace cascade::jinja {

// Formats `unix_s` (UTC) as strftime does in the C locale; "%-d" and the like leave padding out.
// Copied characters keep their marks; the text of a directive is untrusted. Errors: template_error
// for an unknown directive or a year outside [0, 9999]; steps.
Result<MarkedText> format_time(Runtime& runtime, const MarkedText& format, int64_t unix_s);

}  // namespace cascade::jinja
