// Tests: `value is name(arguments)`.
#pragma once

#include <string_view>

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"

namespace cascade::jinja {

struct Test {
  std::string_view name;
  Result<bool> (*holds)(Runtime& runtime, const Value& subject, const Arguments& arguments);
};

// nullptr for an unknown name.
const Test* find_test(std::string_view name);

// Applies a test; its errors begin with its name.
Result<bool> apply_test(Runtime& runtime, const Test& test, const Value& subject,
                        const Arguments& arguments);

}  // namespace cascade::jinja
