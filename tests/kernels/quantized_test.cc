// Quantised weights: every instruction set gives the scalar bits, whatever is computed
// together, and the stored values are close to the given ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/quantized_matrix.h"
#include "kernels/quantized_rows.h"
#include "tests/kernels/isas.h"
#include "tests/kernels/quantized_product.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::GuardedBytes;
using testing::GuardedFloats;
using testing::quantize;
using testing::quantized_product;
using testing::random_floats;
using testing::scalar;
using testing::TestMatrix;
using testing::vector_kernels;

// The largest magnitude among the elements [begin, end).
float largest_magnitude(const GuardedFloats& x, int begin, int end) {
  float largest = 0;
  for (int i = begin; i < end; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

struct Format {
  WeightType type;
  bool block_scales;

  // `k` rounded up to whole blocks, if the weights are blocks.
  int inputs(int k) const { return block_scales ? (k + kBlock - 1) / kBlock * kBlock : k; }
};

class Quantized : public ::testing::TestWithParam<Format> {
 protected:
  static TestMatrix random_matrix(Random& random, int n, int k) {
    return TestMatrix(random, GetParam().type, MatrixLayout::kPanels16, n, k,
                      GetParam().block_scales);
  }
};

TEST_P(Quantized, every_isa_equals_scalar_over_odd_shapes) {
  Random random(testing::test_seed());
  for (const int n : {1, 16, 17, 300}) {
    for (const int inputs : {8, 120, 128, 136, 520}) {
      const int k = GetParam().inputs(inputs);
      const TestMatrix matrix = random_matrix(random, n, k);
      const PackedMatrix& w = matrix.packed;
      for (const int rows : {1, 2, 3, 4, 5, 8, 9, 12, 17, 24, 25, 97}) {
        if (!testing::long_tests() && n * k * rows > 1'000'000) continue;  // too long
        const auto x = random_floats(random, size_t(rows) * k);
        const auto expected = quantized_product(scalar(), w, x, 0, rows, 0);
        for (const Kernels* kernels : vector_kernels()) {
          const int cut = static_cast<int>(random.below(uint64_t(w.panels()) + 1));
          const auto actual = quantized_product(*kernels, w, x, 0, rows, cut);
          ASSERT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)), 0)
              << to_string(kernels->isa) << " n=" << n << " k=" << k << " rows=" << rows;
        }
      }
    }
  }
}

TEST_P(Quantized, a_row_does_not_depend_on_the_rows_beside_it) {
  Random random(testing::test_seed());
  // The size is large enough for several passes over the rows.
  const int n = 40, k = GetParam().inputs(3000), rows = 150;
  const TestMatrix matrix = random_matrix(random, n, k);
  const PackedMatrix& w = matrix.packed;
  const auto x = random_floats(random, size_t{rows} * k);
  for (const Kernels* kernels : vector_kernels()) {
    const auto whole = quantized_product(*kernels, w, x, 0, rows, 1);
    for (int row = 0; row < rows;) {
      const int count = static_cast<int>(std::min<uint64_t>(rows - row, 1 + random.below(30)));
      const auto part = quantized_product(*kernels, w, x, row, count, 2);
      ASSERT_EQ(std::memcmp(part.data(), whole.data() + size_t(row) * w.n_padded,
                            part.size() * sizeof(float)),
                0)
          << to_string(kernels->isa) << " rows " << row << "+" << count;
      row += count;
    }
  }
}

TEST_P(Quantized, sums_of_the_largest_numbers_do_not_saturate) {
  // All products have full size, and either the same sign or alternating signs.
  const int k = 256;
  for (const bool alternating : {false, true}) {
    TestMatrix matrix(GetParam().type, MatrixLayout::kPanels16, 16, k, GetParam().block_scales);
    GuardedFloats row(k), x(13 * k);
    for (int i = 0; i < k; ++i) row[i] = alternating && i % 2 == 1 ? -1.0f : 1.0f;
    for (int channel = 0; channel < 16; ++channel) set_row(matrix.packed, channel, row.data());
    for (size_t i = 0; i < x.size(); ++i) x[i] = i / k % 2 == 0 ? 2.0f : -2.0f;
    const auto expected = quantized_product(scalar(), matrix.packed, x, 0, 13, 0);
    EXPECT_NEAR(expected[0], alternating ? 0 : 2 * k, 0.02 * k);
    for (const Kernels* kernels : vector_kernels()) {
      for (const int rows : {1, 13}) {
        const auto actual = quantized_product(*kernels, matrix.packed, x, 0, rows, 1);
        ASSERT_EQ(std::memcmp(expected.data(), actual.data(), actual.size() * sizeof(float)), 0)
            << to_string(kernels->isa) << " " << rows;
      }
    }
  }
}

TEST_P(Quantized, is_close_to_the_product_of_the_rounded_numbers) {
  Random random(testing::test_seed());
  const int n = 33, k = GetParam().inputs(264), rows = 3;
  const TestMatrix matrix = random_matrix(random, n, k);
  const auto x = random_floats(random, size_t{rows} * k);
  const auto y = quantized_product(scalar(), matrix.packed, x, 0, rows, 0);
  std::vector<float> row(k);
  for (int channel = 0; channel < n; ++channel) {
    get_row(matrix.packed, channel, row.data());
    for (int r = 0; r < rows; ++r) {
      double exact = 0, bound = 0;
      for (int g = 0; g < k; g += kGroup) {
        // x is off by at most half a step in each element.
        const int end = std::min(k, g + kGroup);
        const float largest = largest_magnitude(x, r * k + g, r * k + end);
        for (int i = g; i < end; ++i) {
          exact += double(x[size_t(r) * k + i]) * row[i];
          bound += std::fabs(double(row[i])) * largest / 127 * 0.501;
        }
      }
      ASSERT_NEAR(y[size_t(r) * matrix.packed.n_padded + channel], exact, bound + 1e-5);
    }
  }
}

// Packs into memory that is not zeroed and not the matrix's.
TEST(PackPanel, gives_the_bytes_that_rows_set_one_by_one_have) {
  Random random(testing::test_seed());
  for (const WeightType type : kWeightTypes) {
    for (const int n : {1, 3, 16, 23, 37}) {
      for (const int k : {8, 136, 256, 1000}) {
        TestMatrix matrix(type, MatrixLayout::kPanels16, n, k);
        const PackedMatrix& w = matrix.packed;
        const auto rows = random_floats(random, size_t(n) * k);
        for (int i = 0; i < n; ++i) set_row(matrix.packed, i, &rows[size_t(i) * k]);
        for (int panel = 0; panel < w.panels(); ++panel) {
          const int first = panel * kPanelChannels;
          const auto read = [&](int offset, int count, float* out) {
            std::copy_n(&rows[size_t(first + offset) * k], size_t(count) * k, out);
          };
          std::vector<uint8_t> packed(w.panel_bytes(), 0xA5);
          pack_panel(w, std::min(kPanelChannels, n - first), read, packed.data());
          ASSERT_EQ(std::memcmp(packed.data(), w.panel(panel), packed.size()), 0)
              << to_string(type) << " n=" << n << " k=" << k << " panel " << panel;
        }
      }
    }
  }
}

TEST(QuantizedMatrix, int8_stores_rows_within_half_a_step) {
  Random random(testing::test_seed());
  const int k = 328;
  TestMatrix matrix(WeightType::kInt8, MatrixLayout::kPanels16, 20, k);
  for (int channel = 0; channel < 20; ++channel) {
    const auto row = random_floats(random, k);
    set_row(matrix.packed, channel, row.data());
    std::vector<float> back(k);
    get_row(matrix.packed, channel, back.data());
    for (int begin = 0; begin < k; begin += kGroup) {
      const int end = std::min(k, begin + kGroup);
      const float largest = largest_magnitude(row, begin, end);
      // The scale is rounded up to bf16, by under 2^-7 of itself.
      const float step = largest / 127 * (1 + 0x1p-7f);
      for (int i = begin; i < end; ++i) ASSERT_NEAR(back[i], row[i], step * 0.5001f) << i;
    }
  }
}

// A step may be too fine for the largest weight if clipping that weight costs less. It is certain
// that the squared error of a group is no larger than with steps of a seventh of the largest
// weight, at which nothing is clipped.
TEST(QuantizedMatrix, int4_stores_groups_no_worse_than_with_steps_that_fit_the_largest) {
  Random random(testing::test_seed());
  const int k = 328;
  TestMatrix matrix(WeightType::kInt4, MatrixLayout::kPanels16, 20, k);
  for (int channel = 0; channel < 20; ++channel) {
    const auto row = random_floats(random, k);
    set_row(matrix.packed, channel, row.data());
    std::vector<float> back(k);
    get_row(matrix.packed, channel, back.data());
    for (int begin = 0; begin < k; begin += kGroup) {
      const int end = std::min(k, begin + kGroup);
      // The scale is rounded up to bf16, by under 2^-7 of itself; a step is a whole multiple of it.
      const float scale = largest_magnitude(row, begin, end) / (7 * 15) * (1 + 0x1p-7f);
      double error = 0, bound = 0;
      for (int i = begin; i < end; ++i) error += std::pow(double{back[i]} - row[i], 2);
      for (int part = begin; part < end; part += kSubgroup) {
        const int part_end = std::min(end, part + kSubgroup);
        const float step = largest_magnitude(row, part, part_end) / 7 + scale;
        bound += (part_end - part) * std::pow(step / 2, 2);
      }
      ASSERT_LE(error, bound * 1.0001) << "channel " << channel << ", from " << begin;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Weights, Quantized,
    ::testing::Values(Format{WeightType::kInt8, false}, Format{WeightType::kInt4, false},
                      Format{WeightType::kInt8, true}, Format{WeightType::kInt4, true},
                      Format{WeightType::kQ4K, false}, Format{WeightType::kQ5K, false},
                      Format{WeightType::kQ6K, false}, Format{WeightType::kMxfp4, false}),
    [](const auto& test) {
      return std::string(to_string(test.param.type)) + (test.param.block_scales ? "_blocks" : "");
    });

// Blocks as in a file: all values that a byte or a nibble can have, with scales of any size and
// sign.
std::vector<WeightBlock> random_blocks(Random& random, WeightType type, size_t count) {
  std::vector<WeightBlock> blocks(count);
  for (WeightBlock& block : blocks) {
    const bool int8 = type == WeightType::kInt8;
    for (int8_t& q : block.q) {
      q = static_cast<int8_t>(int8 ? int(random.below(256)) - 128 : int(random.below(16)) - 8);
    }
    if (random.below(8) == 0) std::fill_n(block.q, kBlock, int8_t(int8 ? -128 : -8));
    block.scale = static_cast<uint16_t>(random.below(0x4000) | random.below(2) << 15);
  }
  return blocks;
}

// A matrix of `blocks`, which are given row after row.
TestMatrix matrix_of(const std::vector<WeightBlock>& blocks, WeightType type, int n, int k) {
  TestMatrix matrix(type, MatrixLayout::kPanels16, n, k, true);
  const size_t of_row = size_t(k) / kBlock;
  for (int panel = 0; panel < matrix.packed.panels(); ++panel) {
    const int first = panel * kPanelChannels;
    const auto read = [&](int offset, int count, WeightBlock* out) {
      std::copy_n(&blocks[size_t(first + offset) * of_row], size_t(count) * of_row, out);
    };
    pack_panel(matrix.packed, std::min(kPanelChannels, n - first), read,
               matrix.packed.data + size_t(panel) * matrix.packed.panel_bytes());
  }
  return matrix;
}

TEST(BlockScales, blocks_are_taken_over_bit_for_bit_and_every_isa_equals_scalar) {
  Random random(testing::test_seed());
  for (const WeightType type : {WeightType::kInt8, WeightType::kInt4}) {
    for (const int k : {32, 96, 128, 160, 544}) {
      const int n = 37, of_row = k / kBlock;
      const auto blocks = random_blocks(random, type, size_t(n) * of_row);
      const TestMatrix matrix = matrix_of(blocks, type, n, k);
      std::vector<float> row(k);
      for (int channel = 0; channel < n; ++channel) {
        get_row(matrix.packed, channel, row.data());
        for (int i = 0; i < k; ++i) {
          const WeightBlock& block = blocks[size_t(channel) * of_row + i / kBlock];
          ASSERT_EQ(row[i], float(block.q[i % kBlock]) * f16_to_f32(block.scale)) << i;
        }
      }
      for (const int rows : {1, 3, 8, 24, 50}) {
        const auto x = random_floats(random, size_t(rows) * k);
        const auto expected = quantized_product(scalar(), matrix.packed, x, 0, rows, 0);
        for (const Kernels* kernels : vector_kernels()) {
          const auto actual = quantized_product(*kernels, matrix.packed, x, 0, rows, 1);
          ASSERT_EQ(std::memcmp(expected.data(), actual.data(), actual.size() * sizeof(float)), 0)
              << to_string(kernels->isa) << " " << to_string(type) << " k=" << k << " " << rows;
        }
      }
    }
  }
}

TEST(QuantizedRows, are_the_same_bytes_on_every_isa_and_odd_numbers_do_no_harm) {
  Random random(testing::test_seed());
  for (const int k : {8, 128, 136, 1000}) {
    auto x = random_floats(random, size_t{15} * k);
    x[3] = NAN;
    x[k] = INFINITY;
    x[2 * k + 1] = 1e-38f;
    for (int i = 0; i < k; ++i) x[3 * k + i] = 0;
    for (int i = 0; i < k; ++i) x[4 * k + i] = 1e-37f;
    for (const bool k_quants : {false, true}) {
      const GuardedBytes expected = quantize(scalar(), x, 0, 15, k, k_quants);
      for (const Kernels* kernels : vector_kernels()) {
        const GuardedBytes actual = quantize(*kernels, x, 0, 15, k, k_quants);
        ASSERT_EQ(std::memcmp(expected.data(), actual.data(), quantized_rows_bytes(15, k)), 0)
            << to_string(kernels->isa) << " k=" << k << (k_quants ? ", for K-quants" : "");
      }
    }
  }
}

TEST(QuantizedRows, may_be_written_in_parts) {
  Random random(testing::test_seed());
  const int rows = 3;
  for (const int k : {136, 256, 1000}) {
    const auto x = random_floats(random, static_cast<size_t>(rows) * k);
    std::vector<const Kernels*> all = vector_kernels();
    all.push_back(&scalar());
    for (const Kernels* kernels : all) {
      const GuardedBytes whole = quantize(*kernels, x, 0, rows, k);
      GuardedBytes parts(quantized_rows_bytes(rows, k), 0, 64);
      // The last group first, then all others.
      const int last = row_groups(k) - 1;
      for (const auto& [begin, end] : {std::pair(last, last + 1), std::pair(0, last)}) {
        for (int r = 0; r < rows; ++r) {
          kernels->quantize_row(
              {x.data() + size_t(r) * k, k, parts.data(), rows, r, true, begin, end});
        }
      }
      ASSERT_EQ(std::memcmp(whole.data(), parts.data(), quantized_rows_bytes(rows, k)), 0)
          << to_string(kernels->isa) << " k=" << k;
    }
  }
}

TEST(QuantizedGemm, scratch_for_a_matrix_is_enough_for_all_with_fewer_inputs) {
  size_t before = 0;
  for (int k = 8; k < 40'000; k += 8) {
    const size_t panel = static_cast<size_t>(row_groups(k)) * kGroup * kPanelChannels;
    EXPECT_GE(quantized_gemm_scratch_bytes(k), panel * expanded_panels(k)) << k;
    EXPECT_GE(quantized_gemm_scratch_bytes(k), before) << k;
    EXPECT_EQ(expanded_panels(k) % 2, 0) << k;
    before = quantized_gemm_scratch_bytes(k);
  }
}

TEST(QuantizeInt4, a_multiplier_never_makes_a_weight_that_int8_cannot_hold) {
  Random random(testing::test_seed());
  for (int round = 0; round < 200; ++round) {
    const auto row = random_floats(random, kGroup, static_cast<float>(std::exp2(round % 40 - 20)));
    const QuantizedGroup group = quantize_int4(row.data(), kGroup);
    for (int i = 0; i < kGroup; ++i) {
      const int m = group.multipliers[i / kSubgroup];
      ASSERT_GE(m, 1);
      ASSERT_LE(m, 15);
      ASSERT_GE(group.q[i], -8);
      ASSERT_LE(group.q[i], 7);
    }
  }
}

TEST(QuantizeInt8, survives_weights_that_are_no_numbers) {
  for (const float odd : {NAN, INFINITY, -INFINITY, 1e-45f, 3e38f}) {
    std::vector<float> row(kGroup, 1.0f);
    row[5] = odd;
    for (const QuantizedGroup& group :
         {quantize_int8(row.data(), kGroup), quantize_int4(row.data(), kGroup)}) {
      for (const int8_t q : group.q) ASSERT_GE(q, -127);
    }
  }
}

}  // namespace
}  // namespace cascade
