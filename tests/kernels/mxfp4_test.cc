// MXFP4: blocks are kept bit for bit, every instruction set gives the scalar bits for any block,
// and rounding is that of the Microscaling Formats.
#include "kernels/mxfp4_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/kernels/isas.h"
#include "tests/kernels/quantized_product.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::expect_scalar_bits;
using testing::GuardedFloats;
using testing::quantized_product;
using testing::scalar;
using testing::TestMatrix;

// The numbers of the codes 0 to 7, as the format's table has them.
constexpr double kE2m1[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

double value_of(const Mxfp4Block& block, int i) {
  const double magnitude = std::ldexp(kE2m1[block.codes[i] & 7], block.scale - 127);
  return block.codes[i] < 8 ? magnitude : -magnitude;
}

// Blocks with all codes and scales from `scale_min` to `scale_max`.
std::vector<Mxfp4Block> random_blocks(Random& random, size_t count, int scale_min, int scale_max) {
  std::vector<Mxfp4Block> blocks(count);
  for (Mxfp4Block& block : blocks) {
    const bool is_extreme = random.below(4) == 0;
    for (uint8_t& code : block.codes) {
      code = static_cast<uint8_t>(is_extreme ? 7 : random.below(16));
    }
    const auto scales = static_cast<uint64_t>(scale_max - scale_min + 1);
    block.scale = static_cast<uint8_t>(scale_min + static_cast<int>(random.below(scales)));
  }
  return blocks;
}

// A matrix of `blocks`, which are given row after row.
TestMatrix matrix_of(const std::vector<Mxfp4Block>& blocks, int n, int k) {
  TestMatrix matrix(WeightType::kMxfp4, MatrixLayout::kPanels16, n, k);
  const size_t of_row = size_t(k) / kBlock;
  const PackedMatrix& w = matrix.packed;
  for (int panel = 0; panel < w.panels(); ++panel) {
    const int first = panel * kPanelChannels;
    const auto read = [&](int offset, int count, Mxfp4Block* out) {
      std::copy_n(&blocks[size_t(first + offset) * of_row], size_t(count) * of_row, out);
    };
    pack_panel(w, std::min(kPanelChannels, n - first), read,
               w.data + size_t(panel) * w.panel_bytes());
  }
  return matrix;
}

TEST(Mxfp4, blocks_are_taken_over_bit_for_bit) {
  Random random(testing::test_seed());
  for (const int k : {32, 96, 128, 160, 544}) {
    const int n = 37, of_row = k / kBlock;
    const auto blocks = random_blocks(random, size_t(n) * of_row, 0, 252);
    const TestMatrix matrix = matrix_of(blocks, n, k);
    std::vector<float> row(k);
    for (int channel = 0; channel < n; ++channel) {
      get_row(matrix.packed, channel, row.data());
      for (int i = 0; i < k; ++i) {
        const Mxfp4Block& block = blocks[size_t(channel) * of_row + i / kBlock];
        ASSERT_EQ(double{row[i]}, value_of(block, i % kBlock)) << channel << " " << i;
      }
    }
  }
}

TEST(Mxfp4, every_isa_equals_scalar_for_any_block) {
  Random random(testing::test_seed());
  for (const int k : {32, 96, 128, 160, 544}) {
    const int n = 37;
    // Scales that are subnormal in f32, and some so large that a sum of products is just finite.
    const int scale_min = random.below(2) == 0 ? 0 : 180;
    const auto blocks = random_blocks(random, size_t(n) * k / kBlock, scale_min, scale_min + 40);
    const TestMatrix matrix = matrix_of(blocks, n, k);
    for (const int rows : {1, 2, 3, 8, 24, 50}) {
      expect_scalar_bits(random, matrix.packed, rows);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Mxfp4, product_is_that_of_the_numbers) {
  Random random(testing::test_seed());
  const int n = 16, k = 96;
  const auto blocks = random_blocks(random, size_t(n) * k / kBlock, 120, 130);
  const TestMatrix matrix = matrix_of(blocks, n, k);
  GuardedFloats x(k);
  for (float& value : x) value = static_cast<float>(random.below(255)) - 127.0f;
  x[0] = 127.0f;  // so that the rows' scale is 1
  const GuardedFloats y = quantized_product(scalar(), matrix.packed, x, 0, 1, 0);
  for (int channel = 0; channel < n; ++channel) {
    double exact = 0, magnitude = 0;
    for (int i = 0; i < k; ++i) {
      const double term = value_of(blocks[size_t(channel) * k / kBlock + i / kBlock], i % kBlock);
      exact += term * x[i];
      magnitude += std::fabs(term * x[i]);
    }
    EXPECT_NEAR(y[channel], exact, 1e-6 * magnitude);
  }
}

TEST(Mxfp4, rounds_to_the_nearest_number_and_ties_to_the_even_code) {
  // The largest is 6, so the scale is 1.
  std::vector<float> x = {6,     0.25f, 0.26f, 0.74f, 0.75f, 1.25f, 1.24f,  1.75f, 2.5f,
                          2.51f, 3.5f,  3.49f, 5.0f,  5.01f, 0,     -0.75f, -5.0f, -6};
  const std::vector<double> expected = {6, 0, 0.5, 0.5, 1, 1, 1,  2,  2,
                                        3, 4, 3,   4,   6, 0, -1, -4, -6};
  const Mxfp4Block block = quantize_mxfp4(x.data(), static_cast<int>(x.size()));
  EXPECT_EQ(block.scale, 127);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(value_of(block, int(i)), expected[i]) << x[i];
  for (size_t i = x.size(); i < kBlock; ++i) EXPECT_EQ(block.codes[i], 0);
}

TEST(Mxfp4, scale_is_that_of_the_largest_weight) {
  for (const int power : {-149, -140, -127, -126, -125, -60, 0, 1, 127}) {
    for (const double factor : {1.0, 1.25, 1.5, 1.75, 1.99}) {
      const auto largest = static_cast<float>(std::ldexp(factor, power));
      const std::vector<float> x = {largest, -largest};
      const Mxfp4Block block = quantize_mxfp4(x.data(), 2);
      EXPECT_EQ(block.scale, std::max(std::ilogb(largest) - 2 + 127, 0)) << power << " " << factor;
      EXPECT_TRUE(is_finite(block));
      EXPECT_EQ(value_of(block, 0), -value_of(block, 1));
      // A number above 6 becomes 6.
      const double bound = power < -125 ? std::ldexp(1, -128) : std::ldexp(2, power - 2);
      EXPECT_NEAR(value_of(block, 0), largest, bound) << power << " " << factor;
    }
  }
}

TEST(Mxfp4, quantizer_survives_weights_that_are_no_numbers) {
  for (const float odd : {NAN, INFINITY, -INFINITY}) {
    std::vector<float> x(kBlock, 1.0f);
    x[5] = odd;
    for (const int count : {8, kBlock}) {
      const Mxfp4Block block = quantize_mxfp4(x.data(), count);
      for (const uint8_t code : block.codes) ASSERT_LT(code, 16);
      EXPECT_TRUE(is_finite(block));
    }
  }
  const std::vector<float> none(kBlock, 0.0f);
  const Mxfp4Block zero = quantize_mxfp4(none.data(), kBlock);
  for (int i = 0; i < kBlock; ++i) EXPECT_EQ(value_of(zero, i), 0);
}

TEST(Mxfp4, a_block_is_finite_if_all_its_weights_are_finite_in_f32) {
  Mxfp4Block block = {};
  block.scale = 254;
  EXPECT_TRUE(is_finite(block)) << "zeros";
  block.codes[3] = 3;  // 1.5 * 2^127
  EXPECT_TRUE(is_finite(block));
  block.codes[9] = 12;  // -2 * 2^127
  EXPECT_FALSE(is_finite(block));
  block.scale = 253;
  EXPECT_TRUE(is_finite(block));
  block.codes[31] = 7;  // 6 * 2^126
  EXPECT_FALSE(is_finite(block));
  block.scale = 252;
  EXPECT_TRUE(is_finite(block));
  block.scale = kE8m0Nan;
  EXPECT_FALSE(is_finite(block));
  EXPECT_FALSE(is_finite(Mxfp4Block{{}, kE8m0Nan})) << "zeros";
  float values[kBlock];
  mxfp4_values(Mxfp4Block{{}, kE8m0Nan}, values);
  for (const float value : values) EXPECT_TRUE(std::isnan(value));
}

TEST(Mxfp4, takes_the_bytes_of_a_file) {
  const PackedMatrix w = describe_matrix(WeightType::kMxfp4, MatrixLayout::kPanels16, 64, 1024);
  EXPECT_EQ(w.bytes(), size_t{64} * 1024 / 32 * 17);
}

}  // namespace
}  // namespace cascade
