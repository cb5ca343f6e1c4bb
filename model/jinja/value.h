// The values of a template: Python's types, as far as chat templates need them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/jinja/runtime.h"
#include "model/jinja/text.h"

namespace cascade::jinja {

class Loop;
class Value;
struct BigInteger;
struct BoundMethod;
struct Dict;
struct DictView;
struct Function;
struct Iterator;
struct Macro;
struct MacroStatement;
struct Method;
struct Namespace;
struct Scope;
struct Sequence;
struct String;

// The value of a variable, key or attribute that does not exist. Printing it gives nothing; any
// other use is an error that says `reason`.
struct Undefined {
  std::shared_ptr<const PaidString> reason;
};

struct None {};

// range(start, stop, step). The step is never 0, and there are at most kRangeMax numbers.
struct Range {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  size_t size() const;
  int64_t at(size_t index) const { return start + static_cast<int64_t>(index) * step; }
};
inline constexpr size_t kRangeMax = 100'000;  // as in Jinja's sandbox

// A value. Copying is cheap (a reference count); all but namespaces, loops and iterators are
// immutable.
class Value {
 public:
  using Storage =
      std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const String>,
                   std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>,
                   std::shared_ptr<const DictView>, std::shared_ptr<const Range>,
                   std::shared_ptr<Iterator>, std::shared_ptr<Namespace>, std::shared_ptr<Loop>,
                   std::shared_ptr<const Macro>, std::shared_ptr<const BoundMethod>,
                   const Function*, std::shared_ptr<const BigInteger>>;

  Value() = default;  // undefined, without a reason
  template <class T>
  requires std::is_constructible_v<Storage, T&&> &&
      (!std::is_same_v<std::decay_t<T>, Value>)&&(!std::is_same_v<std::decay_t<T>, const char*>)
          Value(T&& storage)
      : storage_(std::forward<T>(storage)) {}  // NOLINT: implicit

  const Storage& storage() const { return storage_; }

  bool is_undefined() const { return std::holds_alternative<Undefined>(storage_); }
  bool is_none() const { return std::holds_alternative<None>(storage_); }
  const bool* boolean() const { return std::get_if<bool>(&storage_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&storage_); }
  const double* real() const { return std::get_if<double>(&storage_); }
  // Each function gives nullptr if the value is of another type.
  const BigInteger* big_integer() const { return held<const BigInteger>(); }
  const String* string() const { return held<const String>(); }
  const MarkedText* text() const;
  const Sequence* sequence() const { return held<const Sequence>(); }
  const Sequence* list() const;
  const Sequence* tuple() const;
  const Dict* dict() const { return held<const Dict>(); }
  const DictView* dict_view() const { return held<const DictView>(); }
  const Range* range() const { return held<const Range>(); }
  Iterator* iterator() const { return held<Iterator>(); }
  Namespace* name_space() const { return held<Namespace>(); }
  Loop* loop() const { return held<Loop>(); }
  const Macro* macro() const { return held<const Macro>(); }
  const BoundMethod* bound_method() const { return held<const BoundMethod>(); }
  const Function* function() const;

  // Python's name of the type: "str", "int", "NoneType", ...
  std::string_view type_name() const;
  // Python's bool(value).
  bool is_true() const;
  // Levels of containers, at most kValueDepthMax.
  int depth() const;

 private:
  template <class T>
  T* held() const {
    const auto* pointer = std::get_if<std::shared_ptr<T>>(&storage_);
    return pointer == nullptr ? nullptr : pointer->get();
  }

  Storage storage_;
};

// An int beyond 64 bits, from JSON. It can be printed and compared, but arithmetic does not support
// it.
struct BigInteger {
  PaidString digits;  // decimal, after a "-" if negative; no leading zeros
  bool operator==(const BigInteger&) const = default;
};

struct String {
  MarkedText text;
  bool is_markup = false;  // made by `safe` or `escape` (markup.h)
};

struct Sequence {
  bool is_tuple = false;
  PaidVector<Value> items;
  int depth = 1;
};

// Entries in order of insertion, with different keys. A key is found by linear search: dicts of
// templates are small, and steps pay for the search.
struct Dict {
  using Entries = PaidVector<std::pair<Value, Value>>;
  Entries entries;
  int depth = 1;

  const Value* find(std::string_view key) const;
};

enum class DictPart { kKeys, kValues, kItems };

struct DictView {
  std::shared_ptr<const Dict> dict;
  DictPart part = DictPart::kKeys;
};

// The result of map, select and similar filters. It is read once, has no length, and is always
// true.
struct Iterator {
  PaidVector<Value> items;
  size_t next = 0;
  int depth = 1;
};

// namespace(...): the only value that a template changes. The Runtime owns it, too.
struct Namespace {
  PaidVector<std::pair<PaidString, Value>> attributes;

  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

// The statement is in a template that outlives the rendering.
struct Macro {
  const MacroStatement* statement = nullptr;
  std::shared_ptr<Scope> scope;
};

// `object.method` before it is called.
struct BoundMethod {
  Value object;
  const Method* method = nullptr;
  int depth = 1;
};

// `reason` is a sentence for the error message.
Value undefined(std::string_view reason);

Value make_string(MarkedText text);
// Text that the engine made: not trusted.
Value untrusted_string(std::string_view text);

// `digits` have the form of BigInteger::digits.
Value make_big_integer(std::string_view digits);

// Errors: kResourceExhausted beyond kValueDepthMax.
Result<Value> make_list(PaidVector<Value> items);
Result<Value> make_tuple(PaidVector<Value> items);
Result<Value> make_iterator(PaidVector<Value> items);
Result<Value> make_dict(Dict::Entries entries);
Result<Value> make_bound_method(Value object, const Method& method);

// The items that iterating over `value` gives: the items of a list, the keys of a dict, the
// characters of a string, nothing for undefined. An iterator is used up. Errors: template_error if
// not iterable; steps.
Result<PaidVector<Value>> items_of(const Value& value);

// Python's len(). Errors: template_error if the value has none.
Result<int64_t> length_of(Runtime& runtime, const Value& value);

// Pays for reading `value` once, but not for what its items contain.
Status charge_reading(Runtime& runtime, const Value& value);

}  // namespace cascade::jinja
