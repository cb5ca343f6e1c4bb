// The global functions: range, dict, namespace, raise_exception, strftime_now.
#pragma once

#include <span>
#include <string_view>

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"

namespace cascade::jinja {

struct Function {
  std::string_view name;
  Result<Value> (*call)(Runtime& runtime, const Arguments& arguments);
};

std::span<const Function> functions();

// nullptr for an unknown name.
const Function* find_function(std::string_view name);

}  // namespace cascade::jinja
