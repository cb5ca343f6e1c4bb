// Strings that `safe` and `escape` mark as HTML. Joining one with a plain string escapes the plain
// one.
#pragma once

#include "model/jinja/value.h"

namespace cascade::jinja {

// `text` with & < > " ' as character references. References are untrusted. Errors: steps.
Result<MarkedText> escape_html(Runtime& runtime, const MarkedText& text);

Value make_markup(MarkedText text);

// a + b of two strings, at least one of which is markup: the other one is escaped.
// Errors: steps.
Result<Value> add_markup(Runtime& runtime, const String& a, const String& b);

}  // namespace cascade::jinja
