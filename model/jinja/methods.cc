// Finding and calling methods.
#include "model/jinja/methods.h"

#include <algorithm>
#include <array>

#include "model/jinja/markup.h"

namespace cascade::jinja {
namespace {

constexpr std::array<std::string_view, 5> kDictMutators = {"clear", "pop", "popitem", "setdefault",
                                                           "update"};
constexpr std::array<std::string_view, 8> kListMutators = {"append", "clear",  "extend",  "insert",
                                                           "pop",    "remove", "reverse", "sort"};

// Methods of markup that escape the strings given to them and give markup.
constexpr std::array<std::string_view, 19> kMarkupMethods = {
    "capitalize", "center",  "format", "join",       "ljust",  "lower",  "lstrip",
    "partition",  "replace", "rjust",  "rpartition", "rsplit", "rstrip", "split",
    "splitlines", "strip",   "title",  "upper",      "zfill"};

const Method* find_in(std::span<const Method> methods, std::string_view name) {
  const auto found = std::ranges::find(methods, name, &Method::name);
  return found == methods.end() ? nullptr : &*found;
}

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// `value` with the strings in it, and in its items, as markup.
Result<Value> as_markup(Runtime& runtime, const Value& value) {
  if (const MarkedText* text = value.text()) return make_markup(*text);
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr) return value;
  PaidVector<Value> items;
  items.reserve(sequence->items.size());
  for (const Value& item : sequence->items) {
    ASSIGN_OR_RETURN(Value marked, as_markup(runtime, item));
    items.push_back(std::move(marked));
  }
  return sequence->is_tuple ? make_tuple(std::move(items)) : make_list(std::move(items));
}

Result<Value> escaped_if_plain(Runtime& runtime, const Value& value) {
  const String* string = value.string();
  if (string == nullptr || string->is_markup) return value;
  ASSIGN_OR_RETURN(MarkedText text, escape_html(runtime, string->text));
  return make_string(std::move(text));
}

}  // namespace

const Method* find_method(const Value& object, std::string_view name) {
  if (object.text() != nullptr) {
    const Method* method = find_in(text_methods(), name);
    return method != nullptr ? method : find_in(search_methods(), name);
  }
  if (object.dict() != nullptr) return find_in(dict_methods(), name);
  if (object.loop() != nullptr) return find_in(loop_methods(), name);
  if (object.tuple() != nullptr && name == "copy") return nullptr;
  return object.sequence() != nullptr ? find_in(sequence_methods(), name) : nullptr;
}

bool is_mutating_method(const Value& object, std::string_view name) {
  return (object.dict() != nullptr && is_among(kDictMutators, name)) ||
         (object.list() != nullptr && is_among(kListMutators, name));
}

bool is_method_name(std::string_view name) {
  for (const auto methods :
       {text_methods(), search_methods(), dict_methods(), sequence_methods(), loop_methods()}) {
    if (find_in(methods, name) != nullptr) return true;
  }
  return is_among(kDictMutators, name) || is_among(kListMutators, name);
}

Result<Value> call_method(Runtime& runtime, const BoundMethod& method, const Arguments& arguments) {
  const String* string = method.object.string();
  const bool is_markup =
      string != nullptr && string->is_markup && is_among(kMarkupMethods, method.method->name);
  if (!is_markup) return method.method->call(runtime, method.object, arguments);
  Arguments escaped = arguments;
  for (Value& value : escaped.positional) {
    ASSIGN_OR_RETURN(value, escaped_if_plain(runtime, value));
  }
  for (auto& [name, value] : escaped.named) {
    ASSIGN_OR_RETURN(value, escaped_if_plain(runtime, value));
  }
  const bool escapes_itself = method.method->name == "format" || method.method->name == "split" ||
                              method.method->name == "rsplit";
  ASSIGN_OR_RETURN(const Value result, method.method->call(runtime, method.object,
                                                           escapes_itself ? arguments : escaped));
  return as_markup(runtime, result);
}

}  // namespace cascade::jinja
