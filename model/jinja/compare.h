// Equality, order and membership, as Python defines them between its types.
#pragma once

#include <vector>

#include "model/jinja/value.h"

namespace cascade::jinja {

// a == b. Values of different types differ, except numbers. Errors: steps.
Result<bool> equals(Runtime& runtime, const Value& a, const Value& b);

// a < b, for numbers, strings, and lists and tuples of these. Errors: template_error for other
// types; steps.
Result<bool> less(Runtime& runtime, const Value& a, const Value& b);

// `item in container`. Errors: template_error if `container` is not a container, or is a dict that
// cannot have `item` as a key; steps.
Result<bool> contains(Runtime& runtime, const Value& container, const Value& item);

// The value of `key`, or nullptr. Errors: as contains(); the pointer is into `dict`.
Result<const Value*> find_key(Runtime& runtime, const Dict& dict, const Value& key);

// Fails unless `key` can be the key of a dict. Errors: template_error for a list or dict, also in a
// tuple; steps.
Status check_hashable(Runtime& runtime, const Value& key);

// dict[key] = value, on entries that are still being built. If there is an equal key already, that
// key stays and gets the value. Errors: template_error for a list or dict as key; steps.
Status put(Runtime& runtime, Dict::Entries& entries, Value key, Value value);

// Sorts `keys` stably by less(), and gives the order as indices.
Result<PaidVector<size_t>> sorted_order(Runtime& runtime, const PaidVector<Value>& keys,
                                        bool descending);

// The number, if the value is an int or bool.
std::optional<int64_t> as_integer(const Value& value);

// The number, if the value is an int, float or bool. 64 bits of mantissa: exact for all of them.
std::optional<long double> as_number(const Value& value);

}  // namespace cascade::jinja
