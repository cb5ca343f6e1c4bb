// Finding and applying filters.
#include "model/jinja/filters.h"

#include <algorithm>

#include "model/jinja/error.h"

namespace cascade::jinja {
namespace {

constexpr std::string_view kPrefix = "filter '";

}  // namespace

const Filter* find_filter(std::string_view name) {
  for (const auto filters :
       {text_filters(), number_filters(), sequence_filters(), selection_filters()}) {
    const auto found = std::ranges::find(filters, name, &Filter::name);
    if (found != filters.end()) return &*found;
  }
  return nullptr;
}

Result<Value> apply_filter(Runtime& runtime, const Filter& filter, const Value& subject,
                           const Arguments& arguments) {
  // `map` applies filters inside filters.
  const Nesting nesting = runtime.nest();
  if (!nesting.ok()) return runtime.too_deep();
  RETURN_IF_ERROR(runtime.charge(1));
  auto result = runtime.within_steps([&] { return filter.apply(runtime, subject, arguments); });
  if (result.ok() || !result.error().field.empty()) return result;
  Error error = std::move(result).error();
  if (error.message.starts_with(kPrefix)) return error;  // names the filter that `map` applied
  error.message = std::string(kPrefix) + std::string(filter.name) + "': " + error.message;
  return error;
}

}  // namespace cascade::jinja
