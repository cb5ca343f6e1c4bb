// Arguments of a call, and how a built-in function finds its parameters in them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/jinja/value.h"

namespace cascade::jinja {

struct Arguments {
  PaidVector<Value> positional;
  PaidVector<std::pair<PaidString, Value>> named;  // names differ

  // The named argument, or nullptr.
  const Value* find(std::string_view name) const;
};

// The arguments in the order of the parameters of one function.
class Parameters {
 public:
  // The argument of parameter `index`, or nullptr if it was not given or is none.
  const Value* get(size_t index) const;
  // The argument as an integer, or `fallback` if get() gives nullptr. Errors: template_error if it
  // is of another type.
  Result<int64_t> integer(size_t index, int64_t fallback) const;
  // The truth of the argument, which may be any value.
  bool flag(size_t index, bool fallback) const;
  // The argument as a string; nullptr if it was not given or is none.
  Result<const MarkedText*> text(size_t index) const;
  // Precondition: the parameter is required, or its argument was given.
  const Value& operator[](size_t index) const { return *values_[index]; }

 private:
  friend Result<Parameters> bind(const Arguments&, std::initializer_list<std::string_view>, size_t);

  // Precondition: get(index) is not nullptr.
  Error wrong_type(size_t index, std::string_view wanted) const;

  std::vector<std::optional<Value>> values_;
  std::vector<std::string_view> names_;
};

// Assigns each argument to its parameter. The first `required` of `names` must be given. `names`
// are literals. Errors: template_error for too many, too few, unknown or doubled arguments.
Result<Parameters> bind(const Arguments& arguments, std::initializer_list<std::string_view> names,
                        size_t required = 0);

}  // namespace cascade::jinja
