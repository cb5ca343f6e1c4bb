// String formatting: "%s" % values and "{}".format(values).
#pragma once

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"

namespace cascade::jinja {

// format % values; `values` is a tuple, a dict for "%(name)s", or one value.
// Errors: template_error for what does not fit or is not supported (%a, %*d); steps.
Result<Value> format_percent(Runtime& runtime, const String& format, const Value& values);

// format.format(...): fields "{}", "{0}", "{name}" with !r, !s and a format spec; attributes and
// indices in fields are not supported. Errors: as above.
Result<Value> format_braces(Runtime& runtime, const String& format, const Arguments& arguments);

}  // namespace cascade::jinja
