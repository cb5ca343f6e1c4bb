// Methods of dicts, lists, tuples and loops.
#include <array>
#include <string>

#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/loop.h"
#include "model/jinja/methods.h"

namespace cascade::jinja {
namespace {

Result<Value> get(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"key", "default"}, 1));
  ASSIGN_OR_RETURN(const Value* found, find_key(runtime, *object.dict(), parameters[0]));
  if (found != nullptr) return *found;
  const Value* fallback = parameters.get(1);
  return fallback != nullptr ? *fallback : Value(None());
}

template <DictPart kPart>
Result<Value> view(Runtime& runtime, const Value& object, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  RETURN_IF_ERROR(runtime.charge(1));
  const auto& dict = std::get<std::shared_ptr<const Dict>>(object.storage());
  return Value(make_paid<const DictView>(DictView{dict, kPart}));
}

// Values do not change, so the copy may be the object itself.
Result<Value> copy(Runtime&, const Value& object, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  return object;
}

// Precondition: `list` is a list or tuple.
const PaidVector<Value>& items_in(const Value& list) {
  return std::get<std::shared_ptr<const Sequence>>(list.storage())->items;
}

Result<Value> count_in_list(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"value"}, 1));
  int64_t occurrences = 0;
  for (const Value& item : items_in(object)) {
    ASSIGN_OR_RETURN(const bool equal, equals(runtime, item, parameters[0]));
    if (equal) ++occurrences;
  }
  return Value(occurrences);
}

Result<Value> index(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"value"}, 1));
  const PaidVector<Value>& items = items_in(object);
  for (size_t i = 0; i < items.size(); ++i) {
    ASSIGN_OR_RETURN(const bool equal, equals(runtime, items[i], parameters[0]));
    if (equal) return Value(static_cast<int64_t>(i));
  }
  return template_error("the value is not in the " + std::string(object.type_name()));
}

Result<Value> cycle(Runtime&, const Value& object, const Arguments& arguments) {
  const PaidVector<Value>& values = arguments.positional;
  if (values.empty() || !arguments.named.empty()) {
    return template_error("loop.cycle() needs values, without names");
  }
  return values[static_cast<size_t>(object.loop()->index0()) % values.size()];
}

Result<Value> changed(Runtime& runtime, const Value& object, const Arguments& arguments) {
  if (!arguments.named.empty()) return template_error("loop.changed() takes values without names");
  ASSIGN_OR_RETURN(const bool differs, object.loop()->changed(runtime, arguments.positional));
  return Value(differs);
}

constexpr std::array kDictMethods = {
    Method{"copy", copy},
    Method{"get", get},
    Method{"items", view<DictPart::kItems>},
    Method{"keys", view<DictPart::kKeys>},
    Method{"values", view<DictPart::kValues>},
};

constexpr std::array kSequenceMethods = {
    Method{"copy", copy},
    Method{"count", count_in_list},
    Method{"index", index},
};

constexpr std::array kLoopMethods = {
    Method{"changed", changed},
    Method{"cycle", cycle},
};

}  // namespace

std::span<const Method> dict_methods() {
  return kDictMethods;
}
std::span<const Method> sequence_methods() {
  return kSequenceMethods;
}
std::span<const Method> loop_methods() {
  return kLoopMethods;
}

}  // namespace cascade::jinja
