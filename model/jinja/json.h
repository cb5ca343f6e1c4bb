// JSON in and out of values.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "model/jinja/value.h"

namespace cascade::jinja {

// The value of `json`. `trusted` is the mark of all strings in it, keys included, at every depth.
// Integers keep their digits; a number beyond f64 is infinite, as in Python.
// Errors: template_error for strings that are not UTF-8, and for binary data; kResourceExhausted if
// nested too deep.
Result<Value> from_json(Runtime& runtime, const OrderedJson& json, bool trusted);

struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<MarkedText> indent;  // per level; absent: all on one line
  MarkedText item_separator;
  MarkedText key_separator;
  bool sort_keys = false;
};

// json.dumps(value) byte for byte. Characters that stand for themselves keep their marks; what the
// engine adds is untrusted. Errors: template_error for values that JSON does not have; steps.
Result<MarkedText> to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace cascade::jinja
