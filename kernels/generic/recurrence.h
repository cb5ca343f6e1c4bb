// The kernels for recurrent layers, for any vector type V16.
#pragma once

#include <array>

#include "kernels/generic/elementwise.h"
#include "kernels/recurrence.h"

namespace cascade::generic {

template <class V>
inline void convolve(const ConvolveArgs& args) {
  for_lanes(args.n, [&](int c, int count) {
    V sum = args.bias == nullptr ? V::zero() : V::load_partial(args.bias + c, count);
    for (int t = 0; t < args.taps; ++t) {
      const float* const weights = args.weights + static_cast<size_t>(t) * args.weight_stride + c;
      sum = V::fma(V::load_partial(args.rows[t] + c, count), V::load_partial(weights, count), sum);
    }
    if (args.silu) sum = sum / (V::set1(1.0f) + exp(V::zero() - sum));
    sum.store_partial(args.out + c, count);
  });
}

// Whole vectors of columns.
template <class V, size_t kVectors>
struct WholeColumns {
  static constexpr size_t kCount = kVectors;
  V load(const float* row, size_t i) const { return V::load(row + 16 * i); }
  void store(V value, float* row, size_t i) const { value.store(row + 16 * i); }
};
// Fewer columns than a vector has.
template <class V>
struct SomeColumns {
  static constexpr size_t kCount = 1;
  int columns;
  V load(const float* row, size_t) const { return V::load_partial(row, columns); }
  void store(V value, float* row, size_t) const { value.store_partial(row, columns); }
};

// All tokens' steps of the columns from `column` on. While a token's rows of the state are made,
// the next token's correction is summed up, so that the state is read once for each token.
template <class V, bool kCorrects, class Columns>
[[gnu::always_inline]] inline void scan_columns(const ScanArgs& args, size_t column,
                                                const Columns& columns) {
  using Vectors = std::array<V, Columns::kCount>;
  const auto each = [](const auto& body) {
    for (size_t i = 0; i < Columns::kCount; ++i) body(i);
  };
  const auto rows = static_cast<size_t>(args.key_dim);
  const auto tokens = static_cast<size_t>(args.tokens);
  Vectors known, change, out;
  each([&](size_t i) { known[i] = V::zero(); });
  for (size_t row = 0; kCorrects && row < rows; ++row) {
    const V of_row = V::set1(args.keys[row]);
    const float* const state = args.state + row * args.state_stride + column;
    each([&](size_t i) { known[i] = V::fma(columns.load(state, i), of_row, known[i]); });
  }
  for (size_t t = 0; t < tokens; ++t) {
    const float* const key = args.keys + t * args.key_stride;
    const float* const query = args.queries + t * args.key_stride;
    const float* const next_key = t + 1 < tokens ? key + args.key_stride : key;
    const V decay = V::set1(args.decays[t * args.step_stride]);
    const V rate = V::set1(args.rates[t * args.step_stride]);
    const float* const values = args.values + t * args.value_stride + column;
    each([&](size_t i) {
      const V value = columns.load(values, i);
      change[i] = (kCorrects ? value - known[i] * decay : value) * rate;
      known[i] = out[i] = V::zero();
    });
    for (size_t row = 0; row < rows; ++row) {
      const V of_key = V::set1(key[row]), of_query = V::set1(query[row]);
      float* const state = args.state + row * args.state_stride + column;
      Vectors next;
      each([&](size_t i) {
        next[i] = V::fma(of_key, change[i], columns.load(state, i) * decay);
        columns.store(next[i], state, i);
        out[i] = V::fma(next[i], of_query, out[i]);
      });
      if constexpr (kCorrects) {
        const V of_next = V::set1(next_key[row]);
        each([&](size_t i) { known[i] = V::fma(next[i], of_next, known[i]); });
      }
    }
    float* const to = args.out + t * args.out_stride + column;
    each([&](size_t i) { columns.store(out[i], to, i); });
  }
}

template <class V, bool kCorrects>
inline void scan_all(const ScanArgs& args) {
  // Two vectors of columns have enough independent chains for the units of a core.
  constexpr size_t kVectors = 2;
  constexpr int kColumns = 16 * static_cast<int>(kVectors);
  int column = 0;
  for (; column + kColumns <= args.columns; column += kColumns) {
    scan_columns<V, kCorrects>(args, static_cast<size_t>(column), WholeColumns<V, kVectors>());
  }
  for (; column + 16 <= args.columns; column += 16) {
    scan_columns<V, kCorrects>(args, static_cast<size_t>(column), WholeColumns<V, 1>());
  }
  if (column < args.columns) {
    scan_columns<V, kCorrects>(args, static_cast<size_t>(column),
                               SomeColumns<V>{args.columns - column});
  }
}

template <class V>
inline void scan(const ScanArgs& args) {
  if (args.corrects) return scan_all<V, true>(args);
  scan_all<V, false>(args);
}

}  // namespace cascade::generic
