// The matrix product: every instruction set equals the scalar one bit for bit, for any row count.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/kernels/isas.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::expect_same_bits;
using testing::GuardedFloats;
using testing::random_floats;
using testing::scalar;
using testing::TestMatrix;
using testing::vector_kernels;

// y of `rows` rows starting at `row`, computed in one call.
GuardedFloats product(const Kernels& kernels, const PackedMatrix& w, const GuardedFloats& x,
                      size_t x_stride, int row, int rows) {
  GuardedFloats y(static_cast<size_t>(rows) * w.n_padded, -1.0f);
  kernels.gemm(
      {&w, x.data() + row * x_stride, x_stride, y.data(), size_t(w.n_padded), rows, 0, w.panels()});
  return y;
}

class GemmTypes : public ::testing::TestWithParam<WeightType> {};

TEST_P(GemmTypes, every_isa_equals_scalar_over_odd_shapes) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : {1, 15, 16, 17, 48, 100, 208}) {
      for (const int k : {8, 24, 136, 520}) {
        const TestMatrix matrix(random, GetParam(), MatrixLayout::kPanels16, n, k);
        const PackedMatrix& w = matrix.packed;
        const size_t stride = k + 3;  // rows are not aligned
        for (const int rows : {1, 2, 3, 4, 5, 7, 11, 12, 13, 25, 97}) {
          if (!testing::long_tests() && n * k * rows > 1'000'000) continue;  // too long
          const auto x = random_floats(random, rows * stride);
          SCOPED_TRACE(::testing::Message()
                       << to_string(kernels->isa) << " n=" << n << " k=" << k << " rows=" << rows);
          expect_same_bits(product(scalar(), w, x, stride, 0, rows),
                           product(*kernels, w, x, stride, 0, rows));
        }
      }
    }
  }
}

TEST_P(GemmTypes, a_row_does_not_depend_on_the_rows_beside_it) {
  Random random(testing::test_seed());
  std::vector<const Kernels*> tables = vector_kernels();
  const auto openblas = kernels_for(Isa::kOpenblas);
  if (openblas.ok()) tables.push_back(*openblas);
  for (const Kernels* kernels : tables) {
    const int n = 176, k = 328, rows = 70;
    const TestMatrix matrix(random, GetParam(), kernels->matrix_layout, n, k);
    const PackedMatrix& w = matrix.packed;
    const auto x = random_floats(random, size_t{rows} * k);
    const auto whole = product(*kernels, w, x, k, 0, rows);
    int row = 0;
    while (row < rows) {
      const int count = static_cast<int>(std::min<uint64_t>(rows - row, 1 + random.below(30)));
      const auto part = product(*kernels, w, x, k, row, count);
      SCOPED_TRACE(::testing::Message()
                   << to_string(kernels->isa) << " rows " << row << "+" << count);
      EXPECT_EQ(std::memcmp(part.data(), whole.data() + size_t(row) * w.n_padded,
                            part.size() * sizeof(float)),
                0);
      row += count;
    }
  }
}

TEST_P(GemmTypes, panels_may_be_split_anywhere) {
  Random random(testing::test_seed());
  std::vector<const Kernels*> tables = vector_kernels();
  const auto openblas = kernels_for(Isa::kOpenblas);
  if (openblas.ok()) tables.push_back(*openblas);
  for (const Kernels* kernels : tables) {
    const TestMatrix matrix(random, GetParam(), kernels->matrix_layout, 200, 64);
    const PackedMatrix& w = matrix.packed;
    const int rows = 9;
    const auto x = random_floats(random, size_t{rows} * w.k);
    const auto whole = product(*kernels, w, x, w.k, 0, rows);
    for (int cut = 0; cut <= w.panels(); ++cut) {
      GuardedFloats y(whole.size(), -1.0f);
      const size_t stride = w.n_padded;
      kernels->gemm({&w, x.data(), size_t(w.k), y.data(), stride, rows, 0, cut});
      kernels->gemm({&w, x.data(), size_t(w.k), y.data(), stride, rows, cut, w.panels()});
      expect_same_bits(whole, y);
    }
  }
}

TEST_P(GemmTypes, openblas_is_close_to_the_specification) {
  const auto openblas = kernels_for(Isa::kOpenblas);
  if (!openblas.ok()) GTEST_SKIP() << "SKIPPED: " << openblas.error().to_string();
  Random random(testing::test_seed());
  const int n = 130, k = 264, rows = 20;
  TestMatrix panels_memory(GetParam(), MatrixLayout::kPanels16, n, k);
  TestMatrix row_major_memory(GetParam(), MatrixLayout::kRowMajor, n, k);
  PackedMatrix& panels = panels_memory.packed;
  PackedMatrix& row_major = row_major_memory.packed;
  for (int channel = 0; channel < n; ++channel) {
    set_row(panels, channel, random_floats(random, k).data());
    std::vector<float> rounded(k);
    get_row(panels, channel, rounded.data());
    set_row(row_major, channel, rounded.data());
  }
  const auto x = random_floats(random, size_t{rows} * k);
  const auto expected = product(scalar(), panels, x, k, 0, rows);
  const auto actual = product(**openblas, row_major, x, k, 0, rows);
  // Each sum of k products in f32 is off by at most k * 2^-24 of the sum of magnitudes, which here
  // is under 40 * k.
  const float bound = static_cast<float>(k) * 0x1p-24f * 40.0f * static_cast<float>(k);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(expected[i], actual[i], bound);
}

INSTANTIATE_TEST_SUITE_P(Weights, GemmTypes, ::testing::Values(WeightType::kF32, WeightType::kBf16),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(PackedMatrix, gives_back_the_rows_that_were_stored) {
  Random random(testing::test_seed());
  for (const WeightType type : {WeightType::kF32, WeightType::kBf16}) {
    for (const MatrixLayout layout : {MatrixLayout::kPanels16, MatrixLayout::kRowMajor}) {
      TestMatrix memory(type, layout, 37, 24);
      PackedMatrix& matrix = memory.packed;
      std::vector<GuardedFloats> rows;
      for (int channel = 0; channel < 37; ++channel) {
        rows.push_back(random_floats(random, 24));
        set_row(matrix, channel, rows.back().data());
      }
      for (int channel = 0; channel < 37; ++channel) {
        std::vector<float> back(24);
        get_row(matrix, channel, back.data());
        for (int k = 0; k < 24; ++k) {
          const bool rounds = matrix.type == WeightType::kBf16;
          const float stored =
              rounds ? bf16_to_f32(f32_to_bf16(rows[channel][k])) : rows[channel][k];
          ASSERT_EQ(back[k], stored);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cascade
