// Comparing values, searching containers, sorting.
#include "model/jinja/compare.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>

#include "model/jinja/error.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

Result<bool> equal_items(Runtime& runtime, const PaidVector<Value>& a, const PaidVector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSIGN_OR_RETURN(const bool equal, equals(runtime, a[i], b[i]));
    if (!equal) return false;
  }
  return true;
}

// Whether both dicts have the same keys, and the same values if `with_values`, in any order.
Result<bool> equal_dicts(Runtime& runtime, const Dict& a, const Dict& b, bool with_values) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    ASSIGN_OR_RETURN(const Value* other, find_key(runtime, b, key));
    if (other == nullptr) return false;
    if (!with_values) continue;
    ASSIGN_OR_RETURN(const bool equal, equals(runtime, value, *other));
    if (!equal) return false;
  }
  return true;
}

// Equality of two values of one type. Objects of a type that does not define equality are equal if
// they are the same object.
template <class Type>
Result<bool> equal_values(Runtime&, const Type& a, const Type& b) {
  return a == b;
}
Result<bool> equal_values(Runtime&, const Undefined&, const Undefined&) {
  return true;
}
Result<bool> equal_values(Runtime&, const None&, const None&) {
  return true;
}

Result<bool> equal_values(Runtime& runtime, const std::shared_ptr<const String>& a,
                          const std::shared_ptr<const String>& b) {
  if (a->text.size() != b->text.size()) return false;
  RETURN_IF_ERROR(runtime.charge_bytes(a->text.size()));
  return a->text.view() == b->text.view();
}

Result<bool> equal_values(Runtime& runtime, const std::shared_ptr<const BigInteger>& a,
                          const std::shared_ptr<const BigInteger>& b) {
  RETURN_IF_ERROR(runtime.charge_bytes(a->digits.size()));
  return *a == *b;
}

Result<bool> equal_values(Runtime& runtime, const std::shared_ptr<const Sequence>& a,
                          const std::shared_ptr<const Sequence>& b) {
  if (a->is_tuple != b->is_tuple) return false;
  return equal_items(runtime, a->items, b->items);
}

Result<bool> equal_values(Runtime& runtime, const std::shared_ptr<const Dict>& a,
                          const std::shared_ptr<const Dict>& b) {
  return equal_dicts(runtime, *a, *b, true);
}

// Views of keys and items compare as sets.
Result<bool> equal_values(Runtime& runtime, const std::shared_ptr<const DictView>& a,
                          const std::shared_ptr<const DictView>& b) {
  if (a->part != b->part || a->part == DictPart::kValues) return a == b;
  return equal_dicts(runtime, *a->dict, *b->dict, a->part == DictPart::kItems);
}

Result<bool> equal_values(Runtime&, const std::shared_ptr<const Range>& a,
                          const std::shared_ptr<const Range>& b) {
  if (a->size() != b->size()) return false;
  if (a->size() == 0) return true;
  return a->start == b->start && (a->size() == 1 || a->step == b->step);
}

Result<bool> equal_values(Runtime& runtime, const std::shared_ptr<const BoundMethod>& a,
                          const std::shared_ptr<const BoundMethod>& b) {
  if (a->method != b->method) return false;
  return equals(runtime, a->object, b->object);
}

// Compares exactly. NaN and the infinities are not integers.
bool equal_to_real(const BigInteger& a, const double* b) {
  if (b == nullptr || !std::isfinite(*b)) return false;
  char buffer[512];  // the largest double takes some 310 characters
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, *b, std::chars_format::fixed, 0).ptr;
  return std::trunc(*b) == *b && std::string_view(a.digits) == std::string_view(buffer, end);
}

bool less_big(const BigInteger& a, const BigInteger& b) {
  const bool negative = a.digits.starts_with('-');
  if (negative != b.digits.starts_with('-')) return negative;
  if (a.digits.size() != b.digits.size()) return (a.digits.size() < b.digits.size()) != negative;
  return negative ? b.digits < a.digits : a.digits < b.digits;
}

// The value as a number that can be ordered among other numbers. A big integer is rounded.
std::optional<long double> rounded_number(const Value& value) {
  const BigInteger* big = value.big_integer();
  return big != nullptr ? std::strtold(big->digits.c_str(), nullptr) : as_number(value);
}

Result<bool> less_items(Runtime& runtime, const PaidVector<Value>& a, const PaidVector<Value>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    ASSIGN_OR_RETURN(const bool equal, equals(runtime, a[i], b[i]));
    if (!equal) return less(runtime, a[i], b[i]);
  }
  return a.size() < b.size();
}

Result<bool> contains_item(Runtime& runtime, const PaidVector<Value>& items, const Value& item) {
  for (const Value& candidate : items) {
    ASSIGN_OR_RETURN(const bool equal, equals(runtime, candidate, item));
    if (equal) return true;
  }
  return false;
}

// Whether the iterator still gives `item`. As in Python, this uses up the iterator up to and
// including that item.
Result<bool> draws(Runtime& runtime, Iterator& iterator, const Value& item) {
  while (iterator.next < iterator.items.size()) {
    ASSIGN_OR_RETURN(const bool equal, equals(runtime, iterator.items[iterator.next++], item));
    if (equal) return true;
  }
  return false;
}

Result<bool> contains_text(Runtime& runtime, const MarkedText& text, const Value& item) {
  const MarkedText* needle = item.text();
  if (needle == nullptr) {
    return template_error("'in' a string needs a string on its left, not " +
                          std::string(item.type_name()));
  }
  RETURN_IF_ERROR(runtime.charge_bytes(text.size() + needle->size()));
  return find_first(text.view(), needle->view(), 0) != std::string_view::npos;
}

}  // namespace

std::optional<int64_t> as_integer(const Value& value) {
  if (const int64_t* number = value.integer()) return *number;
  if (const bool* flag = value.boolean()) return int64_t{*flag};
  return std::nullopt;
}

std::optional<long double> as_number(const Value& value) {
  if (const double* number = value.real()) return static_cast<long double>(*number);
  if (const auto number = as_integer(value)) return static_cast<long double>(*number);
  return std::nullopt;
}

Status check_hashable(Runtime& runtime, const Value& key) {
  RETURN_IF_ERROR(runtime.charge(1));
  const bool unhashable = key.list() != nullptr || key.dict() != nullptr;
  if (unhashable) {
    return template_error("a " + std::string(key.type_name()) + " cannot be the key of a dict");
  }
  if (const Sequence* tuple = key.tuple()) {
    for (const Value& item : tuple->items) RETURN_IF_ERROR(check_hashable(runtime, item));
  }
  return {};
}

Result<bool> equals(Runtime& runtime, const Value& a, const Value& b) {
  RETURN_IF_ERROR(runtime.charge(1));
  const auto number = as_number(a);
  const auto other_number = as_number(b);
  if (const BigInteger* big = a.big_integer(); big && other_number) {
    return equal_to_real(*big, b.real());
  }
  if (const BigInteger* big = b.big_integer(); big && number) {
    return equal_to_real(*big, a.real());
  }
  if (number.has_value() || other_number.has_value()) return number == other_number;
  if (a.storage().index() != b.storage().index()) return false;
  return std::visit(
      [&](const auto& left) -> Result<bool> {
        using Type = std::decay_t<decltype(left)>;
        return equal_values(runtime, left, std::get<Type>(b.storage()));
      },
      a.storage());
}

Result<bool> less(Runtime& runtime, const Value& a, const Value& b) {
  RETURN_IF_ERROR(runtime.charge(1));
  if (a.big_integer() && b.big_integer()) return less_big(*a.big_integer(), *b.big_integer());
  const auto number = rounded_number(a);
  const auto other = rounded_number(b);
  if (number.has_value() && other.has_value()) return *number < *other;
  const MarkedText* text = a.text();
  const MarkedText* other_text = b.text();
  if (text != nullptr && other_text != nullptr) {
    RETURN_IF_ERROR(runtime.charge_bytes(std::min(text->size(), other_text->size())));
    return text->view() < other_text->view();  // bytes of UTF-8 sort as code points do
  }
  const Sequence* sequence = a.sequence();
  const Sequence* behind = b.sequence();
  if (sequence != nullptr && behind != nullptr && sequence->is_tuple == behind->is_tuple) {
    return less_items(runtime, sequence->items, behind->items);
  }
  for (const Value* value : {&a, &b}) {
    const auto* missing = std::get_if<Undefined>(&value->storage());
    if (missing != nullptr && missing->reason) return template_error(std::string(*missing->reason));
  }
  return template_error("cannot order " + std::string(a.type_name()) + " and " +
                        std::string(b.type_name()));
}

Result<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
  if (const MarkedText* text = container.text()) return contains_text(runtime, *text, item);
  if (const Dict* dict = container.dict()) {
    ASSIGN_OR_RETURN(const Value* found, find_key(runtime, *dict, item));
    return found != nullptr;
  }
  const DictView* view = container.dict_view();
  if (view != nullptr && view->part == DictPart::kKeys) {
    ASSIGN_OR_RETURN(const Value* found, find_key(runtime, *view->dict, item));
    return found != nullptr;
  }
  if (const Sequence* items = container.sequence()) {
    return contains_item(runtime, items->items, item);
  }
  if (Iterator* iterator = container.iterator()) return draws(runtime, *iterator, item);
  ASSIGN_OR_RETURN(const PaidVector<Value> items, items_of(container));
  return contains_item(runtime, items, item);
}

Result<const Value*> find_key(Runtime& runtime, const Dict& dict, const Value& key) {
  RETURN_IF_ERROR(check_hashable(runtime, key));
  if (const MarkedText* text = key.text()) {
    RETURN_IF_ERROR(runtime.charge_lookup(dict.entries.size(), text->size()));
    return dict.find(text->view());
  }
  for (const auto& [candidate, value] : dict.entries) {
    ASSIGN_OR_RETURN(const bool equal, equals(runtime, candidate, key));
    if (equal) return &value;
  }
  return nullptr;
}

Status put(Runtime& runtime, Dict::Entries& entries, Value key, Value value) {
  RETURN_IF_ERROR(check_hashable(runtime, key));
  for (auto& [candidate, old] : entries) {
    ASSIGN_OR_RETURN(const bool equal, equals(runtime, candidate, key));
    if (equal) {
      old = std::move(value);
      return {};
    }
  }
  entries.emplace_back(std::move(key), std::move(value));
  return {};
}

// Merges ever longer sorted runs. A standard sort cannot be used, because comparing may fail.
Result<PaidVector<size_t>> sorted_order(Runtime& runtime, const PaidVector<Value>& keys,
                                        bool descending) {
  const size_t count = keys.size();
  PaidVector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  PaidVector<size_t> merged(count);
  RETURN_IF_ERROR(runtime.charge_items(2 * count));
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const size_t middle = std::min(begin + width, count);
      const size_t end = std::min(begin + 2 * width, count);
      size_t left = begin;
      size_t right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool takes_right = left == middle;
        if (left < middle && right < end) {
          const Value& first = keys[order[descending ? left : right]];
          const Value& second = keys[order[descending ? right : left]];
          ASSIGN_OR_RETURN(takes_right, less(runtime, first, second));
        }
        merged[out] = takes_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  return order;
}

}  // namespace cascade::jinja
