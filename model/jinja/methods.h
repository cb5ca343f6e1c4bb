// Methods of strings, lists, dicts and loops: `value.name(arguments)`.
#pragma once

#include <span>
#include <string_view>

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"

namespace cascade::jinja {

struct Method {
  std::string_view name;
  // Precondition: `object` is of the method's type.
  Result<Value> (*call)(Runtime& runtime, const Value& object, const Arguments& arguments);
};

// The method of this name that values of the type of `object` have, or nullptr.
const Method* find_method(const Value& object, std::string_view name);

// Methods of Python that would change their object ("append"): they exist, but may not be used.
bool is_mutating_method(const Value& object, std::string_view name);

// Whether any type has a method of this name, mutating ones included. The parser refuses calls of
// methods with other names.
bool is_method_name(std::string_view name);

// Calls `method`; a method of markup gives markup and escapes its arguments.
Result<Value> call_method(Runtime& runtime, const BoundMethod& method, const Arguments& arguments);

// The methods of strings that give strings, and those that look into them.
std::span<const Method> text_methods();
std::span<const Method> search_methods();
// The methods of dicts, of lists and tuples, and of loops.
std::span<const Method> dict_methods();
std::span<const Method> sequence_methods();
std::span<const Method> loop_methods();

}  // namespace cascade::jinja
