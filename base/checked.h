// Arithmetic on sizes that come from files and clients: an overflow is reported and does not wrap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cascade {

// a + b, or nullopt if the sum does not fit.
template <class T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// a * b, or nullopt if the product does not fit.
template <class T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Smallest multiple of `step` that is >= n. Preconditions: step > 0, n + step does not overflow.
template <class T>
[[nodiscard]] constexpr T round_up(T n, T step) {
  return (n + step - 1) / step * step;
}

}  // namespace cascade
