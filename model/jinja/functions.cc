// The global functions that templates may call.
#include "model/jinja/functions.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/print.h"
#include "model/jinja/time.h"

namespace cascade::jinja {
namespace {

Result<Value> range(Runtime&, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"start", "stop", "step"}, 1));
  for (const Value& value : arguments.positional) {
    if (!as_integer(value).has_value()) {
      return template_error("range() needs integers, not " + std::string(value.type_name()));
    }
  }
  Range numbers;
  ASSIGN_OR_RETURN(const int64_t first, parameters.integer(0, 0));
  if (arguments.positional.size() == 1) {
    numbers.stop = first;
  } else {
    numbers.start = first;
    ASSIGN_OR_RETURN(numbers.stop, parameters.integer(1, 0));
    ASSIGN_OR_RETURN(numbers.step, parameters.integer(2, 1));
  }
  if (numbers.step == 0) return template_error("the step of range() must not be 0");
  if (numbers.size() > kRangeMax) {
    return limit_error("range() gives more than " + std::to_string(kRangeMax) + " numbers");
  }
  return Value(make_paid<const Range>(numbers));
}

// Puts the entries of a dict, or of a list of pairs, into `entries`.
Status put_entries(Runtime& runtime, Dict::Entries& entries, const Value& source) {
  if (const Dict* dict = source.dict()) {
    for (const auto& [key, value] : dict->entries) {
      RETURN_IF_ERROR(put(runtime, entries, key, value));
    }
    return {};
  }
  ASSIGN_OR_RETURN(const PaidVector<Value> pairs, items_of(source));
  for (const Value& pair : pairs) {
    ASSIGN_OR_RETURN(const PaidVector<Value> parts, items_of(pair));
    if (parts.size() != 2) return template_error("dict() needs pairs of key and value");
    RETURN_IF_ERROR(put(runtime, entries, parts[0], parts[1]));
  }
  return {};
}

// The arguments of dict() and namespace() as entries. Names come from the template or, through **,
// from anywhere, so they are untrusted.
Result<Dict::Entries> entries_of(Runtime& runtime, const Arguments& arguments) {
  if (arguments.positional.size() > 1) return template_error("takes one argument without a name");
  Dict::Entries entries;
  if (!arguments.positional.empty()) {
    RETURN_IF_ERROR(put_entries(runtime, entries, arguments.positional[0]));
  }
  for (const auto& [name, value] : arguments.named) {
    RETURN_IF_ERROR(put(runtime, entries, untrusted_string(name), value));
  }
  return entries;
}

Result<Value> dict(Runtime& runtime, const Arguments& arguments) {
  ASSIGN_OR_RETURN(Dict::Entries entries, entries_of(runtime, arguments));
  return make_dict(std::move(entries));
}

Result<Value> make_namespace(Runtime& runtime, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Dict::Entries entries, entries_of(runtime, arguments));
  auto space = make_paid<Namespace>();
  space->attributes.reserve(entries.size());
  for (const auto& [key, value] : entries) {
    if (key.text() == nullptr) return template_error("namespace() needs strings as names");
    space->attributes.emplace_back(key.text()->view(), value);
  }
  runtime.own(space);
  return Value(std::move(space));
}

Result<Value> raise_exception(Runtime& runtime, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"message"}, 1));
  ASSIGN_OR_RETURN(const MarkedText message, to_text(runtime, parameters[0]));
  // Pays for the message, and for a copy that is made while it is passed on.
  RETURN_IF_ERROR(runtime.charge_bytes(2 * message.size()));
  return raised_error(std::string(message.view()));
}

Result<Value> strftime_now(Runtime& runtime, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"format"}, 1));
  ASSIGN_OR_RETURN(const MarkedText* format, parameters.text(0));
  if (format == nullptr) return template_error("strftime_now() needs a format");
  ASSIGN_OR_RETURN(MarkedText text, format_time(runtime, *format, runtime.now_unix_s()));
  return make_string(std::move(text));
}

constexpr std::array kFunctions = {
    Function{"dict", dict},
    Function{"namespace", make_namespace},
    Function{"raise_exception", raise_exception},
    Function{"range", range},
    Function{"strftime_now", strftime_now},
};

}  // namespace

std::span<const Function> functions() {
  return kFunctions;
}

const Function* find_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &Function::name);
  return found == kFunctions.end() ? nullptr : &*found;
}

}  // namespace cascade::jinja
