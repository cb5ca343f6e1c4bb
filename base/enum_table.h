// Tables of enumerators and their names, as used on the wire, in options and in stores.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace cascade {

// Every enumerator once.
template <class E, size_t N>
using EnumTable = std::array<std::pair<E, std::string_view>, N>;

template <class E, size_t N>
std::string_view name_of(const EnumTable<E, N>& table, E value) {
  for (const auto& [candidate, name] : table) {
    if (candidate == value) return name;
  }
  check_failed(__FILE__, __LINE__, "an enumerator has a name");
}

template <class E, size_t N>
std::optional<E> value_of(const EnumTable<E, N>& table, std::string_view name) {
  for (const auto& [value, candidate] : table) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

}  // namespace cascade
