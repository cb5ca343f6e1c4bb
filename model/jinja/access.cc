// Attributes, subscripts and slices.
#include "model/jinja/access.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/loop.h"
#include "model/jinja/markup.h"
#include "model/jinja/methods.h"
#include "model/jinja/print.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

Error undefined_object(const Value& object) {
  const auto& missing = std::get<Undefined>(object.storage());
  return template_error(missing.reason ? std::string(*missing.reason) : "the value is undefined");
}

Value missing(const Value& object, const std::string& what) {
  return undefined("'" + std::string(object.type_name()) + " object' has no " + what);
}

// The method `name` of `object`, or undefined if the method would change the object; nullopt if
// there is none.
Result<std::optional<Value>> method_of(const Value& object, std::string_view name) {
  if (const Method* method = find_method(object, name)) {
    ASSIGN_OR_RETURN(Value bound, make_bound_method(object, *method));
    return std::optional<Value>(std::move(bound));
  }
  if (!is_mutating_method(object, name)) return std::optional<Value>();
  return std::optional<Value>(undefined("the method " + in_quotes(name) + " of a " +
                                        std::string(object.type_name()) +
                                        " may not be used: values do not change"));
}

Value with_markup_of(const String& string, MarkedText text) {
  return string.is_markup ? make_markup(std::move(text)) : make_string(std::move(text));
}

// The offset of item `index`, counted from the end if negative; nullopt if there is no such item.
std::optional<size_t> position_of(int64_t index, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<size_t>(index);
}

// The item at `index`; nullopt if there is none, or the object has no order.
Result<std::optional<Value>> item_at(Runtime& runtime, const Value& object, int64_t index) {
  std::optional<Value> item;
  if (const Sequence* sequence = object.sequence()) {
    const auto position = position_of(index, sequence->items.size());
    if (position.has_value()) item = sequence->items[*position];
  } else if (const Range* range = object.range()) {
    const auto position = position_of(index, range->size());
    if (position.has_value()) item = Value(range->at(*position));
  } else if (const String* string = object.string()) {
    const std::string_view view = string->text.view();
    RETURN_IF_ERROR(runtime.charge_bytes(view.size()));
    if (const auto position = position_of(index, code_point_count(view))) {
      const size_t begin = offset_of(view, *position);
      const size_t end = begin + utf8_decode(view, begin).size;
      item = with_markup_of(*string, string->text.slice(begin, end));
    }
  }
  return item;
}

// The items that [start:stop:step] selects: `count` of them, beginning at `first`.
struct Selection {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};

Result<std::optional<int64_t>> slice_bound(const Value& value) {
  if (value.is_none()) return std::optional<int64_t>();
  if (const auto number = as_integer(value)) return number;
  return template_error("the bounds of a slice must be integers or none, not " +
                        std::string(value.type_name()));
}

Result<Selection> selection_of(int64_t size, const Value& start, const Value& stop,
                               const Value& step) {
  ASSIGN_OR_RETURN(const auto step_bound, slice_bound(step));
  ASSIGN_OR_RETURN(const auto start_bound, slice_bound(start));
  ASSIGN_OR_RETURN(const auto stop_bound, slice_bound(stop));
  Selection selection;
  selection.step = step_bound.value_or(1);
  if (selection.step == 0) return template_error("the step of a slice must not be 0");
  // A larger step would select the same single item, and the clamped step can be negated.
  selection.step = std::clamp(selection.step, -size - 1, size + 1);
  const bool forward = selection.step > 0;
  const int64_t lowest = forward ? 0 : -1;  // "-1": before the first item
  const int64_t highest = forward ? size : size - 1;
  const auto place = [&](std::optional<int64_t> bound, int64_t absent) {
    if (!bound.has_value()) return absent;
    return std::clamp(*bound < 0 ? *bound + size : *bound, lowest, highest);
  };
  selection.first = place(start_bound, forward ? 0 : size - 1);
  const int64_t end = place(stop_bound, forward ? size : -1);
  const int64_t span = forward ? end - selection.first : selection.first - end;
  const int64_t stride = forward ? selection.step : -selection.step;
  if (span > 0) selection.count = (span - 1) / stride + 1;
  return selection;
}

Result<Value> slice_string(const String& string, const Selection& selection) {
  const std::string_view view = string.text.view();
  MarkedText text;
  if (selection.step == 1) {
    const size_t begin = offset_of(view, static_cast<size_t>(selection.first));
    const size_t size = offset_of(view.substr(begin), static_cast<size_t>(selection.count));
    text = string.text.slice(begin, begin + size);
  } else {
    PaidVector<size_t> offsets;
    offsets.reserve(code_point_count(view));
    for (size_t offset = 0; offset < view.size(); offset += utf8_decode(view, offset).size) {
      offsets.push_back(offset);
    }
    for (int64_t i = 0; i < selection.count; ++i) {
      const size_t begin = offsets[static_cast<size_t>(selection.first + i * selection.step)];
      text.append(string.text, begin, begin + utf8_decode(view, begin).size);
    }
  }
  return with_markup_of(string, std::move(text));
}

Result<Value> slice_sequence(const Sequence& sequence, const Selection& selection) {
  PaidVector<Value> items;
  items.reserve(static_cast<size_t>(selection.count));
  for (int64_t i = 0; i < selection.count; ++i) {
    items.push_back(sequence.items[static_cast<size_t>(selection.first + i * selection.step)]);
  }
  return sequence.is_tuple ? make_tuple(std::move(items)) : make_list(std::move(items));
}

}  // namespace

Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is_undefined()) return undefined_object(object);
  ASSIGN_OR_RETURN(const auto method, method_of(object, name));
  if (method.has_value()) return *method;
  if (const Dict* dict = object.dict()) {
    RETURN_IF_ERROR(runtime.charge_lookup(dict->entries.size(), name.size()));
    if (const Value* value = dict->find(name)) return *value;
  } else if (const Namespace* space = object.name_space()) {
    RETURN_IF_ERROR(runtime.charge_lookup(space->attributes.size(), name.size()));
    if (const Value* value = space->find(name)) return *value;
  } else if (Loop* loop = object.loop()) {
    return loop->attribute(name);
  }
  return missing(object, "attribute " + in_quotes(name));
}

Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_object(object);
  if (const Dict* dict = object.dict()) {
    const bool is_unhashable = key.list() != nullptr || key.dict() != nullptr;
    if (!is_unhashable) {
      ASSIGN_OR_RETURN(const Value* found, find_key(runtime, *dict, key));
      if (found != nullptr) return *found;
    }
  } else if (const auto index = as_integer(key)) {
    ASSIGN_OR_RETURN(const auto item, item_at(runtime, object, *index));
    if (item.has_value()) return *item;
  }
  if (const MarkedText* name = key.text()) return get_attribute(runtime, object, name->view());
  if (const auto index = as_integer(key)) {
    return missing(object, "element " + std::to_string(*index));
  }
  return missing(object, "such element");
}

Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& start,
                        const Value& stop, const Value& step) {
  if (object.is_undefined()) return undefined_object(object);
  const String* string = object.string();
  const Sequence* sequence = object.sequence();
  if (string == nullptr && sequence == nullptr) {
    return template_error("slices of a " + std::string(object.type_name()) + " are not supported");
  }
  ASSIGN_OR_RETURN(const int64_t size, length_of(runtime, object));
  ASSIGN_OR_RETURN(const Selection selection, selection_of(size, start, stop, step));
  if (sequence != nullptr) return slice_sequence(*sequence, selection);
  // A step other than 1 takes the characters one by one.
  if (selection.step != 1) RETURN_IF_ERROR(runtime.charge(static_cast<uint64_t>(size)));
  return slice_string(*string, selection);
}

Result<Value> get_path(Runtime& runtime, const Value& object, const Value& path) {
  const MarkedText* text = path.text();
  if (text == nullptr) return get_item(runtime, object, path);
  Value value = object;
  std::string_view rest = text->view();
  for (bool is_last = false; !is_last;) {
    const size_t dot = rest.find('.');
    is_last = dot == std::string_view::npos;
    const std::string_view part = rest.substr(0, dot);
    rest = is_last ? rest : rest.substr(dot + 1);
    RETURN_IF_ERROR(runtime.charge_bytes(part.size()));
    int64_t index = 0;
    const char* end = part.data() + part.size();
    const auto parsed = std::from_chars(part.data(), end, index);
    const bool is_index =
        !part.empty() && is_ascii_digit(part[0]) && parsed.ptr == end && parsed.ec == std::errc();
    const Value key = is_index ? Value(index) : untrusted_string(part);
    ASSIGN_OR_RETURN(value, get_item(runtime, value, key));
  }
  return value;
}

}  // namespace cascade::jinja
