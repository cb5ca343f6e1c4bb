// Filters: `value | name(arguments)`.
#pragma once

#include <span>
#include <string_view>

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"

namespace cascade::jinja {

struct Filter {
  std::string_view name;
  Result<Value> (*apply)(Runtime& runtime, const Value& subject, const Arguments& arguments);
};

// nullptr for an unknown name.
const Filter* find_filter(std::string_view name);

// Applies a filter; its errors begin with its name.
Result<Value> apply_filter(Runtime& runtime, const Filter& filter, const Value& subject,
                           const Arguments& arguments);

// The filters, grouped by what they work on (text_filters.cc and its neighbours).
std::span<const Filter> text_filters();
std::span<const Filter> number_filters();
std::span<const Filter> sequence_filters();
std::span<const Filter> selection_filters();

}  // namespace cascade::jinja
