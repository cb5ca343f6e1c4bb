// Products of rows with quantised matrices, for tests of their types.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/quantized_rows.h"
#include "tests/kernels/isas.h"

namespace cascade::testing {

inline GuardedBytes quantize(const Kernels& kernels, const GuardedFloats& x, int begin, int rows,
                             int k, bool k_quants = true) {
  GuardedBytes quantized(quantized_rows_bytes(rows, k), 0, 64);
  for (int r = 0; r < rows; ++r) {
    kernels.quantize_row({x.data() + size_t(begin + r) * k, k, quantized.data(), rows, r, k_quants,
                          0, row_groups(k)});
  }
  return quantized;
}

// y of `rows` rows from row `begin`, quantised and multiplied by `kernels` in two calls that share
// the panels.
inline GuardedFloats quantized_product(const Kernels& kernels, const PackedMatrix& w,
                                       const GuardedFloats& x, int begin, int rows, int cut) {
  const GuardedBytes quantized = quantize(kernels, x, begin, rows, w.k, is_k_quant(w.type));
  GuardedBytes scratch(quantized_gemm_scratch_bytes(w.k), 0, 64);
  GuardedFloats y(static_cast<size_t>(rows) * w.n_padded, -1.0f);
  const size_t stride = w.n_padded;
  kernels.quantized_gemm({&w, quantized.data(), y.data(), stride, rows, 0, cut, scratch.data()});
  kernels.quantized_gemm(
      {&w, quantized.data(), y.data(), stride, rows, cut, w.panels(), scratch.data()});
  return y;
}

// Checks that every instruction set gives the scalar bits, and that they are finite, for random
// rows and for rows that are rounded to +-127 throughout: their sums are as large as they can be.
inline void expect_scalar_bits(Random& random, const PackedMatrix& w, int rows) {
  auto x = random_floats(random, size_t(rows) * w.k);
  for (int i = 0; i < w.k; ++i) x[i] = 1.0f;
  for (int i = 0; i < w.k && rows > 1; ++i) x[w.k + i] = -1.0f;
  const GuardedFloats expected = quantized_product(scalar(), w, x, 0, rows, 0);
  for (const float y : expected) ASSERT_TRUE(std::isfinite(y));
  for (const Kernels* kernels : vector_kernels()) {
    const GuardedFloats actual = quantized_product(*kernels, w, x, 0, rows, 0);
    ASSERT_EQ(std::memcmp(expected.data(), actual.data(), actual.size() * sizeof(float)), 0)
        << to_string(kernels->isa) << " k=" << w.k << " rows=" << rows;
  }
}

}  // namespace cascade::testing
