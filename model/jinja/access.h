// value.name, value[key] and value[start:stop:step], with Jinja's fallbacks.
#pragma once

#include <string_view>

#include "model/jinja/value.h"

namespace cascade::jinja {

// value.name: a method if the type has one, else the key of a dict, the attribute of a namespace
// or loop. Undefined if there is none. Errors: template_error if `object` is undefined; steps.
Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name);

// value[key]: the key of a dict or the index of a list or string (from the end if negative); else,
// if `key` is a string, as get_attribute(). Errors: as get_attribute().
Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key);

// value[start:stop:step]; each bound is an integer or none.
// Errors: template_error for bounds of other types or a step of 0; steps.
Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& start,
                        const Value& stop, const Value& step);

// The value that `attribute=` of a filter names: "a.b.0" is value["a"]["b"][0]; an integer is an
// index.
Result<Value> get_path(Runtime& runtime, const Value& object, const Value& path);

}  // namespace cascade::jinja
