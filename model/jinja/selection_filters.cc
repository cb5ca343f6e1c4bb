// Filters that look at each item: map, select, reject, selectattr, rejectattr.
#include <array>
#include <string>

#include "model/jinja/access.h"
#include "model/jinja/error.h"
#include "model/jinja/filters.h"
#include "model/jinja/tests.h"

namespace cascade::jinja {
namespace {

// The arguments after the first `count` ones, for the filter or test that is applied.
Arguments rest_of(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

// The name of a filter or test given as argument.
Result<std::string_view> name_at(const Arguments& arguments, size_t index) {
  const MarkedText* name = arguments.positional[index].text();
  if (name == nullptr) return template_error("needs a name as its argument");
  return name->view();
}

Result<Value> map_attribute(Runtime& runtime, const PaidVector<Value>& items,
                            const Arguments& arguments) {
  if (!arguments.positional.empty()) return template_error("takes a filter or an attribute");
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"attribute", "default"}, 1));
  PaidVector<Value> mapped;
  mapped.reserve(items.size());
  for (const Value& item : items) {
    ASSIGN_OR_RETURN(Value value, get_path(runtime, item, parameters[0]));
    if (value.is_undefined() && parameters.get(1) != nullptr) value = parameters[1];
    mapped.push_back(std::move(value));
  }
  return make_iterator(std::move(mapped));
}

Result<Value> map(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const PaidVector<Value> items, items_of(subject));
  if (arguments.find("attribute") != nullptr) return map_attribute(runtime, items, arguments);
  if (arguments.positional.empty()) return template_error("needs a filter or an attribute");
  ASSIGN_OR_RETURN(const std::string_view name, name_at(arguments, 0));
  const Filter* filter = find_filter(name);
  if (filter == nullptr) {
    return template_error("the filter " + in_quotes(name) + " is not supported");
  }
  const Arguments rest = rest_of(arguments, 1);
  PaidVector<Value> mapped;
  mapped.reserve(items.size());
  for (const Value& item : items) {
    RETURN_IF_ERROR(runtime.charge_items(rest.positional.size() + rest.named.size()));
    ASSIGN_OR_RETURN(Value value, apply_filter(runtime, *filter, item, rest));
    mapped.push_back(std::move(value));
  }
  return make_iterator(std::move(mapped));
}

// The items for which a test holds (does not hold). With kAttribute, an attribute of each item is
// tested. Without a test, an item is tested for being true.
template <bool kAttribute, bool kHolds>
Result<Value> select(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  constexpr size_t kTestIndex = kAttribute ? 1 : 0;
  if (arguments.positional.size() < kTestIndex) return template_error("needs an attribute");
  ASSIGN_OR_RETURN(const PaidVector<Value> items, items_of(subject));
  const Test* test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > kTestIndex) {
    ASSIGN_OR_RETURN(const std::string_view name, name_at(arguments, kTestIndex));
    test = find_test(name);
    if (test == nullptr) return template_error("the test " + in_quotes(name) + " is not supported");
    rest = rest_of(arguments, kTestIndex + 1);
  }
  PaidVector<Value> selected;
  for (const Value& item : items) {
    Value tested = item;
    if (kAttribute) {
      ASSIGN_OR_RETURN(tested, get_path(runtime, item, arguments.positional[0]));
    }
    bool holds = tested.is_true();
    if (test != nullptr) {
      ASSIGN_OR_RETURN(holds, apply_test(runtime, *test, tested, rest));
    }
    if (holds == kHolds) selected.push_back(item);
  }
  return make_iterator(std::move(selected));
}

constexpr std::array kSelectionFilters = {
    Filter{"map", map},
    Filter{"reject", select<false, false>},
    Filter{"rejectattr", select<true, false>},
    Filter{"select", select<false, true>},
    Filter{"selectattr", select<true, true>},
};

}  // namespace

std::span<const Filter> selection_filters() {
  return kSelectionFilters;
}

}  // namespace cascade::jinja
