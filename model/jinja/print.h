// Values as text: Python's str() and repr().
#pragma once

#include "model/jinja/value.h"

namespace cascade::jinja {

// str(value), what {{ value }} prints: strings as they are, undefined as nothing, others as
// repr(). What the engine writes itself (digits, quotes, brackets) is untrusted.
// Errors: template_error for functions and other objects without a text of their own; steps.
Result<MarkedText> to_text(Runtime& runtime, const Value& value);
Status append_text(Runtime& runtime, MarkedText& out, const Value& value);

// repr(value): strings in quotes with escapes. Errors: as to_text().
Result<MarkedText> to_repr(Runtime& runtime, const Value& value);

}  // namespace cascade::jinja
