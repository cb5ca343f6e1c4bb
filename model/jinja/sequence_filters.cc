// Filters on lists as a whole: first, length, join, sort, sum, ...
#include <algorithm>
#include <array>
#include <string>

#include "model/jinja/access.h"
#include "model/jinja/case.h"
#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/filters.h"
#include "model/jinja/operators.h"
#include "model/jinja/print.h"
#include "model/jinja/string_ops.h"

namespace cascade::jinja {
namespace {

Result<Value> default_value(Runtime&, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"default_value", "boolean"}));
  const bool is_replaced =
      subject.is_undefined() || (parameters.flag(1, false) && !subject.is_true());
  if (!is_replaced) return subject;
  const bool is_given = !arguments.positional.empty() || arguments.find("default_value") != nullptr;
  return is_given ? parameters[0] : make_string(MarkedText());
}

Result<Value> length(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  ASSIGN_OR_RETURN(const int64_t size, length_of(runtime, subject));
  return Value(size);
}

Result<Value> list(Runtime&, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  ASSIGN_OR_RETURN(PaidVector<Value> items, items_of(subject));
  return make_list(std::move(items));
}

Result<Value> first(Runtime&, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  if (Iterator* iterator = subject.iterator()) {
    if (iterator->next < iterator->items.size()) return iterator->items[iterator->next++];
    return undefined("there is no first item");
  }
  ASSIGN_OR_RETURN(const PaidVector<Value> items, items_of(subject));
  return items.empty() ? undefined("there is no first item") : items.front();
}

Result<Value> last(Runtime&, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  if (subject.iterator() != nullptr) {
    return template_error("needs a list: a generator has no last item until it is read");
  }
  ASSIGN_OR_RETURN(const PaidVector<Value> items, items_of(subject));
  return items.empty() ? undefined("there is no last item") : items.back();
}

// Reverses a string to a string, a generator to a list, and other items to something to iterate
// over.
Result<Value> reverse(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  if (subject.text() != nullptr) {
    return get_slice(runtime, subject, None(), None(), Value(int64_t{-1}));
  }
  ASSIGN_OR_RETURN(PaidVector<Value> items, items_of(subject));
  std::ranges::reverse(items);
  return subject.iterator() != nullptr ? make_list(std::move(items))
                                       : make_iterator(std::move(items));
}

Result<Value> items(Runtime&, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  if (subject.is_undefined()) return make_iterator({});
  if (subject.dict() == nullptr) {
    return template_error("needs a dict, not " + std::string(subject.type_name()));
  }
  const auto& dict = std::get<std::shared_ptr<const Dict>>(subject.storage());
  const Value view = make_paid<const DictView>(DictView{dict, DictPart::kItems});
  ASSIGN_OR_RETURN(PaidVector<Value> pairs, items_of(view));
  return make_iterator(std::move(pairs));
}

// `items`, or the value that `attribute` names in each of them.
Result<PaidVector<Value>> attributes_of(Runtime& runtime, PaidVector<Value> items,
                                        const Value* attribute) {
  if (attribute == nullptr) return items;
  for (Value& item : items) {
    ASSIGN_OR_RETURN(item, get_path(runtime, item, *attribute));
  }
  return items;
}

// The keys that sorting and similar filters compare: `items`, or the value that `attribute` names
// in each of them. Strings are in lower case unless `case_sensitive`.
Result<PaidVector<Value>> keys_of(Runtime& runtime, const PaidVector<Value>& items,
                                  const Value* attribute, bool case_sensitive) {
  ASSIGN_OR_RETURN(PaidVector<Value> keys, attributes_of(runtime, items, attribute));
  for (Value& key : keys) {
    const MarkedText* text = key.text();
    if (case_sensitive || text == nullptr) continue;
    RETURN_IF_ERROR(runtime.charge_characters(text->size()));
    key = make_string(to_lower(*text));
  }
  return keys;
}

// For each item, a list of its keys, because `attribute` may name several ("role,name").
Result<PaidVector<Value>> sort_keys(Runtime& runtime, const PaidVector<Value>& items,
                                    const Value* attribute, bool case_sensitive) {
  PaidVector<std::optional<Value>> paths(1);
  if (attribute != nullptr) paths[0] = *attribute;
  if (attribute != nullptr && attribute->text() != nullptr) {
    ASSIGN_OR_RETURN(const auto names,
                     split(runtime, *attribute->text(), MarkedText(",", false), kNoLimit, false));
    paths.assign(names.size(), std::nullopt);
    for (size_t i = 0; i < names.size(); ++i) paths[i] = make_string(names[i]);
  }
  PaidVector<PaidVector<Value>> parts(items.size());
  for (const std::optional<Value>& path : paths) {
    ASSIGN_OR_RETURN(const auto column,
                     keys_of(runtime, items, path.has_value() ? &*path : nullptr, case_sensitive));
    for (size_t i = 0; i < items.size(); ++i) parts[i].push_back(column[i]);
  }
  PaidVector<Value> keys;
  keys.reserve(parts.size());
  for (PaidVector<Value>& part : parts) {
    ASSIGN_OR_RETURN(Value key, make_list(std::move(part)));
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<Value> sort(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters,
                   bind(arguments, {"reverse", "case_sensitive", "attribute"}));
  ASSIGN_OR_RETURN(const PaidVector<Value> unsorted, items_of(subject));
  ASSIGN_OR_RETURN(const PaidVector<Value> keys,
                   sort_keys(runtime, unsorted, parameters.get(2), parameters.flag(1, false)));
  ASSIGN_OR_RETURN(const PaidVector<size_t> order,
                   sorted_order(runtime, keys, parameters.flag(0, false)));
  PaidVector<Value> sorted;
  sorted.reserve(order.size());
  for (const size_t index : order) sorted.push_back(unsorted[index]);
  return make_list(std::move(sorted));
}

Result<Value> dictsort(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters,
                   bind(arguments, {"case_sensitive", "by", "reverse"}));
  ASSIGN_OR_RETURN(const MarkedText* by, parameters.text(1));
  const bool by_value = by != nullptr && by->view() == "value";
  if (by != nullptr && !by_value && by->view() != "key") {
    return template_error("sorts by 'key' or 'value'");
  }
  ASSIGN_OR_RETURN(const Value iterator, items(runtime, subject, {}));
  if (subject.is_undefined()) return template_error("needs a dict, not Undefined");
  const PaidVector<Value>& pairs = iterator.iterator()->items;
  const Value position(int64_t{by_value ? 1 : 0});
  ASSIGN_OR_RETURN(const PaidVector<Value> keys,
                   keys_of(runtime, pairs, &position, parameters.flag(0, false)));
  ASSIGN_OR_RETURN(const PaidVector<size_t> order,
                   sorted_order(runtime, keys, parameters.flag(2, false)));
  PaidVector<Value> sorted;
  sorted.reserve(order.size());
  for (const size_t index : order) sorted.push_back(pairs[index]);
  return make_list(std::move(sorted));
}

Result<Value> unique(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"case_sensitive", "attribute"}));
  ASSIGN_OR_RETURN(const PaidVector<Value> all, items_of(subject));
  ASSIGN_OR_RETURN(const PaidVector<Value> keys,
                   keys_of(runtime, all, parameters.get(1), parameters.flag(0, false)));
  PaidVector<Value> kept;
  PaidVector<Value> seen;
  for (size_t i = 0; i < all.size(); ++i) {
    RETURN_IF_ERROR(check_hashable(runtime, keys[i]));
    bool is_new = true;
    for (size_t j = 0; is_new && j < seen.size(); ++j) {
      ASSIGN_OR_RETURN(const bool equal, equals(runtime, seen[j], keys[i]));
      is_new = !equal;
    }
    if (!is_new) continue;
    kept.push_back(all[i]);
    seen.push_back(keys[i]);
  }
  return make_iterator(std::move(kept));
}

// The smallest (largest) item; the first one if there are several.
template <bool kLargest>
Result<Value> extreme(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"case_sensitive", "attribute"}));
  ASSIGN_OR_RETURN(const PaidVector<Value> all, items_of(subject));
  if (all.empty()) return undefined("the sequence has no items");
  ASSIGN_OR_RETURN(const PaidVector<Value> keys,
                   keys_of(runtime, all, parameters.get(1), parameters.flag(0, false)));
  size_t best = 0;
  for (size_t i = 1; i < all.size(); ++i) {
    ASSIGN_OR_RETURN(const bool better, kLargest ? less(runtime, keys[best], keys[i])
                                                 : less(runtime, keys[i], keys[best]));
    if (better) best = i;
  }
  return all[best];
}

Result<Value> sum(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"attribute", "start"}));
  ASSIGN_OR_RETURN(PaidVector<Value> all, items_of(subject));
  ASSIGN_OR_RETURN(all, attributes_of(runtime, std::move(all), parameters.get(0)));
  Value total = parameters.get(1) != nullptr ? *parameters.get(1) : Value(int64_t{0});
  if (total.text() != nullptr) return template_error("strings are joined, not summed");
  for (const Value& item : all) {
    ASSIGN_OR_RETURN(total, apply(runtime, ArithmeticOp::kAdd, total, item));
  }
  return total;
}

Result<Value> join(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"d", "attribute"}));
  ASSIGN_OR_RETURN(PaidVector<Value> all, items_of(subject));
  ASSIGN_OR_RETURN(all, attributes_of(runtime, std::move(all), parameters.get(1)));
  MarkedText separator;
  if (parameters.get(0) != nullptr) {
    ASSIGN_OR_RETURN(separator, to_text(runtime, parameters[0]));
  }
  PaidVector<MarkedText> texts;
  texts.reserve(all.size());
  for (const Value& item : all) {
    ASSIGN_OR_RETURN(MarkedText text, to_text(runtime, item));
    texts.push_back(std::move(text));
  }
  return make_string(joined(texts, separator));
}

// Lists of `linecount` items each; the last one is filled up if `fill_with` is given.
Result<Value> batch(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"linecount", "fill_with"}, 1));
  ASSIGN_OR_RETURN(const int64_t size, parameters.integer(0, 0));
  if (size < 1) return template_error("the argument 'linecount' must be at least 1");
  ASSIGN_OR_RETURN(const PaidVector<Value> all, items_of(subject));
  PaidVector<Value> batches;
  const auto count = static_cast<size_t>(size);
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = begin + std::min(count, all.size() - begin);
    PaidVector<Value> line(all.begin() + static_cast<std::ptrdiff_t>(begin),
                           all.begin() + static_cast<std::ptrdiff_t>(end));
    if (parameters.get(1) != nullptr && line.size() < count) {
      RETURN_IF_ERROR(runtime.charge_items(count));
      line.resize(count, parameters[1]);
    }
    ASSIGN_OR_RETURN(Value list, make_list(std::move(line)));
    batches.push_back(std::move(list));
    begin = end;
  }
  return make_iterator(std::move(batches));
}

constexpr std::array kSequenceFilters = {
    Filter{"batch", batch},        Filter{"count", length},
    Filter{"d", default_value},    Filter{"default", default_value},
    Filter{"dictsort", dictsort},  Filter{"first", first},
    Filter{"items", items},        Filter{"join", join},
    Filter{"last", last},          Filter{"length", length},
    Filter{"list", list},          Filter{"max", extreme<true>},
    Filter{"min", extreme<false>}, Filter{"reverse", reverse},
    Filter{"sort", sort},          Filter{"sum", sum},
    Filter{"unique", unique},
};

}  // namespace

std::span<const Filter> sequence_filters() {
  return kSequenceFilters;
}

}  // namespace cascade::jinja
