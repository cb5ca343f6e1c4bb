// Making values, and what all types have in common: name, truth, length, items.
#include "model/jinja/value.h"

#include <algorithm>
#include <limits>

#include "model/jinja/error.h"
#include "model/jinja/loop.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

int deepest(const PaidVector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth;
}

// One level more than `inner`, if that is allowed.
Result<int> one_deeper(int inner) {
  if (inner < kValueDepthMax) return inner + 1;
  return limit_error("a value is nested deeper than " + std::to_string(kValueDepthMax) + " levels");
}

Result<Value> make_sequence(PaidVector<Value> items, bool is_tuple) {
  ASSIGN_OR_RETURN(const int depth, one_deeper(deepest(items)));
  return Value(make_paid<const Sequence>(Sequence{is_tuple, std::move(items), depth}));
}

PaidVector<Value> characters_of(const MarkedText& text) {
  PaidVector<Value> items;
  items.reserve(code_point_count(text.view()));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = begin + utf8_decode(text.view(), begin).size;
    items.push_back(make_string(text.slice(begin, end)));
    begin = end;
  }
  return items;
}

PaidVector<Value> numbers_of(const Range& range) {
  PaidVector<Value> items;
  items.reserve(range.size());
  for (size_t i = 0; i < range.size(); ++i) items.emplace_back(range.at(i));
  return items;
}

Result<PaidVector<Value>> parts_of(const Dict& dict, DictPart part) {
  PaidVector<Value> items;
  items.reserve(dict.entries.size());
  for (const auto& [key, value] : dict.entries) {
    if (part == DictPart::kItems) {
      ASSIGN_OR_RETURN(Value item, make_tuple({key, value}));
      items.push_back(std::move(item));
    } else {
      items.push_back(part == DictPart::kKeys ? key : value);
    }
  }
  return items;
}

}  // namespace

size_t Range::size() const {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  // Unsigned, because the difference of any two bounds fits.
  const auto low = static_cast<uint64_t>(step > 0 ? start : stop);
  const auto high = static_cast<uint64_t>(step > 0 ? stop : start);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return static_cast<size_t>((high - low - 1) / stride + 1);
}

const MarkedText* Value::text() const {
  const String* string = this->string();
  return string == nullptr ? nullptr : &string->text;
}

const Sequence* Value::list() const {
  const Sequence* sequence = this->sequence();
  return sequence != nullptr && !sequence->is_tuple ? sequence : nullptr;
}

const Sequence* Value::tuple() const {
  const Sequence* sequence = this->sequence();
  return sequence != nullptr && sequence->is_tuple ? sequence : nullptr;
}

const Function* Value::function() const {
  const auto* function = std::get_if<const Function*>(&storage_);
  return function == nullptr ? nullptr : *function;
}

std::string_view Value::type_name() const {
  if (const Sequence* sequence = this->sequence()) return sequence->is_tuple ? "tuple" : "list";
  if (const String* string = this->string()) return string->is_markup ? "Markup" : "str";
  if (const DictView* view = dict_view()) {
    return view->part == DictPart::kKeys     ? "dict_keys"
           : view->part == DictPart::kValues ? "dict_values"
                                             : "dict_items";
  }
  static constexpr std::string_view kNames[] = {
      "Undefined",   "NoneType", "bool",      "int",      "float",     "str",
      "list",        "dict",     "dict_keys", "range",    "generator", "Namespace",
      "LoopContext", "Macro",    "method",    "function", "int"};
  static_assert(std::size(kNames) == std::variant_size_v<Storage>);
  return kNames[storage_.index()];
}

bool Value::is_true() const {
  if (is_undefined() || is_none()) return false;
  if (const bool* flag = boolean()) return *flag;
  if (const int64_t* number = integer()) return *number != 0;
  if (const double* number = real()) return *number != 0;
  if (const MarkedText* string = text()) return !string->empty();
  if (const Sequence* items = sequence()) return !items->items.empty();
  if (const Dict* mapping = dict()) return !mapping->entries.empty();
  if (const DictView* view = dict_view()) return !view->dict->entries.empty();
  if (const Range* numbers = range()) return numbers->size() > 0;
  return true;
}

int Value::depth() const {
  if (const Sequence* items = sequence()) return items->depth;
  if (const Dict* mapping = dict()) return mapping->depth;
  if (const DictView* view = dict_view()) return view->dict->depth;
  if (const Iterator* items = iterator()) return items->depth;
  if (const BoundMethod* method = bound_method()) return method->depth;
  if (const Loop* state = loop()) return state->depth();
  return 0;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    const MarkedText* text = name.text();
    if (text != nullptr && text->view() == key) return &value;
  }
  return nullptr;
}

const Value* Namespace::find(std::string_view name) const {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [key, old] : attributes) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  attributes.emplace_back(name, std::move(value));
}

Value undefined(std::string_view reason) {
  return Undefined{make_paid<const PaidString>(reason)};
}

Value make_string(MarkedText text) {
  return make_paid<const String>(String{std::move(text), false});
}

Value make_big_integer(std::string_view digits) {
  return make_paid<const BigInteger>(BigInteger{PaidString(digits)});
}

Value untrusted_string(std::string_view text) {
  return make_string(MarkedText(text, false));
}

Result<Value> make_list(PaidVector<Value> items) {
  return make_sequence(std::move(items), false);
}

Result<Value> make_tuple(PaidVector<Value> items) {
  return make_sequence(std::move(items), true);
}

Result<Value> make_iterator(PaidVector<Value> items) {
  ASSIGN_OR_RETURN(const int depth, one_deeper(deepest(items)));
  return Value(make_paid<Iterator>(Iterator{std::move(items), 0, depth}));
}

Result<Value> make_dict(Dict::Entries entries) {
  int inner = 0;
  for (const auto& [key, value] : entries) inner = std::max({inner, key.depth(), value.depth()});
  ASSIGN_OR_RETURN(const int depth, one_deeper(inner));
  return Value(make_paid<const Dict>(Dict{std::move(entries), depth}));
}

Result<Value> make_bound_method(Value object, const Method& method) {
  ASSIGN_OR_RETURN(const int depth, one_deeper(object.depth()));
  return Value(make_paid<const BoundMethod>(BoundMethod{std::move(object), &method, depth}));
}

Result<PaidVector<Value>> items_of(const Value& value) {
  if (value.is_undefined()) return PaidVector<Value>();
  if (const Sequence* sequence = value.sequence()) return sequence->items;
  if (const MarkedText* text = value.text()) {
    return characters_of(*text);
  }
  if (const Dict* dict = value.dict()) return parts_of(*dict, DictPart::kKeys);
  if (const DictView* view = value.dict_view()) return parts_of(*view->dict, view->part);
  if (const Range* range = value.range()) return numbers_of(*range);
  if (Iterator* iterator = value.iterator()) {
    const auto begin = iterator->items.begin() + static_cast<std::ptrdiff_t>(iterator->next);
    iterator->next = iterator->items.size();
    return PaidVector<Value>(begin, iterator->items.end());
  }
  return template_error("a value of type " + std::string(value.type_name()) + " is not iterable");
}

Result<int64_t> length_of(Runtime& runtime, const Value& value) {
  RETURN_IF_ERROR(charge_reading(runtime, value));
  const auto as_length = [](size_t size) { return static_cast<int64_t>(size); };
  if (value.is_undefined()) return 0;
  if (const Sequence* sequence = value.sequence()) return as_length(sequence->items.size());
  if (const MarkedText* text = value.text()) return as_length(code_point_count(text->view()));
  if (const Dict* dict = value.dict()) return as_length(dict->entries.size());
  if (const DictView* view = value.dict_view()) return as_length(view->dict->entries.size());
  if (const Range* range = value.range()) return as_length(range->size());
  if (Loop* loop = value.loop()) return loop->length();
  return template_error("a value of type " + std::string(value.type_name()) + " has no length");
}

Status charge_reading(Runtime& runtime, const Value& value) {
  if (const MarkedText* text = value.text()) return runtime.charge_bytes(text->bytes_held());
  if (const Sequence* sequence = value.sequence()) {
    return runtime.charge_items(sequence->items.size());
  }
  if (const Dict* dict = value.dict()) return runtime.charge_items(dict->entries.size());
  if (const DictView* view = value.dict_view()) {
    return runtime.charge_items(view->dict->entries.size());
  }
  if (const Range* range = value.range()) return runtime.charge_items(range->size());
  if (const Iterator* iterator = value.iterator()) {
    return runtime.charge_items(iterator->items.size());
  }
  return runtime.charge(1);
}

}  // namespace cascade::jinja
