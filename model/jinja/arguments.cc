// Binding arguments to parameters.
#include "model/jinja/arguments.h"

#include <algorithm>

#include "model/jinja/error.h"

namespace cascade::jinja {

const Value* Arguments::find(std::string_view name) const {
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Value* Parameters::get(size_t index) const {
  const std::optional<Value>& value = values_[index];
  return value.has_value() && !value->is_none() ? &*value : nullptr;
}

Error Parameters::wrong_type(size_t index, std::string_view wanted) const {
  return template_error("the argument " + in_quotes(names_[index]) + " must be " +
                        std::string(wanted) + ", not " + std::string(get(index)->type_name()));
}

Result<int64_t> Parameters::integer(size_t index, int64_t fallback) const {
  const Value* value = get(index);
  if (value == nullptr) return fallback;
  if (const bool* flag = value->boolean()) return int64_t{*flag};
  if (const int64_t* number = value->integer()) return *number;
  return wrong_type(index, "an integer");
}

bool Parameters::flag(size_t index, bool fallback) const {
  const std::optional<Value>& value = values_[index];
  return value.has_value() ? value->is_true() : fallback;
}

Result<const MarkedText*> Parameters::text(size_t index) const {
  const Value* value = get(index);
  if (value == nullptr) return nullptr;
  if (const MarkedText* text = value->text()) return text;
  return wrong_type(index, "a string");
}

Result<Parameters> bind(const Arguments& arguments, std::initializer_list<std::string_view> names,
                        size_t required) {
  Parameters bound;
  bound.names_ = names;
  bound.values_.resize(names.size());
  if (arguments.positional.size() > names.size()) {
    return template_error("takes at most " + std::to_string(names.size()) + " arguments, got " +
                          std::to_string(arguments.positional.size()));
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), bound.values_.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto parameter = std::ranges::find(bound.names_, name);
    if (parameter == bound.names_.end()) {
      return template_error("has no argument " + in_quotes(name));
    }
    std::optional<Value>& slot =
        bound.values_[static_cast<size_t>(parameter - bound.names_.begin())];
    if (slot.has_value()) return template_error("got the argument " + in_quotes(name) + " twice");
    slot = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound.values_[i].has_value()) {
      return template_error("needs the argument " + in_quotes(bound.names_[i]));
    }
  }
  return bound;
}

}  // namespace cascade::jinja
