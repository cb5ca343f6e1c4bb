// K-quants: groups are kept bit for bit, every instruction set gives the scalar bits for any group,
// and the quantiser's groups are near the weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/k_quant_matrix.h"
#include "kernels/k_quantizer.h"
#include "tests/kernels/isas.h"
#include "tests/kernels/quantized_product.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::expect_scalar_bits;
using testing::random_floats;
using testing::TestMatrix;

class KQuants : public ::testing::TestWithParam<WeightType> {
 protected:
  static RecordFormat format() { return record_format(GetParam()); }
  static int q_max() { return (1 << format().bits) - 1; }

  // Any group that a file can hold: all values of q, scales and offsets, units of any size and
  // sign.
  static KQuantGroup random_group(Random& random) {
    KQuantGroup group = {};
    const bool is_extreme = random.below(3) == 0;
    for (uint8_t& q : group.q) {
      q = static_cast<uint8_t>(is_extreme ? q_max() : int(random.below(uint64_t(q_max()) + 1)));
    }
    for (int s = 0; s < format().subgroups(); ++s) {
      const int scale = is_extreme ? (format().offsets ? 63 : -128) : int(random.below(64));
      const bool is_negative = !format().offsets && random.below(2) == 0;
      group.scales[s] = static_cast<int16_t>(is_negative && !is_extreme ? -scale : scale);
      if (format().offsets) group.offsets[s] = static_cast<uint8_t>(random.below(64));
    }
    const auto unit = [&] {
      return static_cast<uint16_t>(random.below(0x4000) | random.below(2) << 15);
    };
    group.unit = unit();
    if (format().offsets) group.offset_unit = unit();
    return group;
  }

  // Rows of groups, and the matrix that has taken them over.
  struct Packed {
    std::vector<KQuantGroup> groups;  // row after row
    TestMatrix matrix;
  };
  static Packed random_matrix(Random& random, int n, int k) {
    Packed out = {{}, TestMatrix(GetParam(), MatrixLayout::kPanels16, n, k)};
    const PackedMatrix& w = out.matrix.packed;
    const auto of_row = static_cast<size_t>(w.groups());
    for (size_t i = 0; i < size_t(n) * of_row; ++i) out.groups.push_back(random_group(random));
    for (int panel = 0; panel < w.panels(); ++panel) {
      const int first = panel * kPanelChannels;
      const auto read = [&](int offset, int count, KQuantGroup* to) {
        std::copy_n(&out.groups[size_t(first + offset) * of_row], size_t(count) * of_row, to);
      };
      pack_panel(w, std::min(kPanelChannels, n - first), read,
                 w.data + size_t(panel) * w.panel_bytes());
    }
    return out;
  }
};

// What the format says of weight `i` of a group, in numbers that round nothing.
double value_of(const RecordFormat& format, const KQuantGroup& group, int i) {
  const int s = i / format.subgroup;
  const double scale = double(f16_to_f32(group.unit)) * group.scales[s];
  if (!format.offsets) return scale * (group.q[i] - 32);
  return scale * group.q[i] - double(f16_to_f32(group.offset_unit)) * group.offsets[s];
}

TEST_P(KQuants, groups_are_taken_over_bit_for_bit) {
  Random random(testing::test_seed());
  for (const int k : {8, 128, 136, 512}) {
    const int n = 37;
    const auto [groups, matrix] = random_matrix(random, n, k);
    const auto of_row = static_cast<size_t>(matrix.packed.groups());
    std::vector<float> row(k);
    for (int channel = 0; channel < n; ++channel) {
      get_row(matrix.packed, channel, row.data());
      for (int i = 0; i < k; ++i) {
        const KQuantGroup& group = groups[size_t(channel) * of_row + size_t(i) / kGroup];
        ASSERT_EQ(row[i], float(value_of(format(), group, i % kGroup))) << channel << " " << i;
      }
    }
  }
}

TEST_P(KQuants, every_isa_equals_scalar_for_any_group) {
  Random random(testing::test_seed());
  for (const int k : {128, 160, 512}) {
    const auto [groups, matrix] = random_matrix(random, 37, k);
    for (const int rows : {1, 3, 8, 24, 50}) {
      expect_scalar_bits(random, matrix.packed, rows);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// Rounding each weight by itself, with steps that fit the range of 32 (q6k: 16) weights and scales
// that are not rounded, is what the search must beat, or nearly reach where scales are rounded.
TEST_P(KQuants, quantizer_is_about_as_near_as_steps_that_are_not_rounded) {
  Random random(testing::test_seed());
  double error = 0, simple = 0;
  for (int round = 0; round < 50; ++round) {
    const auto x = random_floats(random, kGroup, 0.05f);
    const KQuantGroup group = quantize_k_group(GetParam(), x.data(), kGroup);
    for (int i = 0; i < kGroup; ++i) {
      ASSERT_LE(group.q[i], q_max());
      error += std::pow(value_of(format(), group, i) - x[i], 2);
    }
    for (int begin = 0; begin < kGroup; begin += format().subgroup) {
      const float* from = x.data() + begin;
      float low = 0, high = 0;
      for (int i = 0; i < format().subgroup; ++i) {
        low = std::min(low, from[i]);
        high = std::max(high, from[i]);
      }
      if (!format().offsets) low = -(high = std::max(high, -low));
      const float step = (high - low) / float(format().offsets ? q_max() : q_max() - 1);
      for (int i = 0; i < format().subgroup && step > 0; ++i) {
        simple += std::pow(std::nearbyint((from[i] - low) / step) * step + low - from[i], 2);
      }
    }
  }
  EXPECT_LT(error, 1.05 * simple);
  EXPECT_GT(error, 0.3 * simple) << "too good to be true";
}

TEST_P(KQuants, quantizer_survives_weights_that_are_no_numbers_and_short_groups) {
  for (const float odd : {NAN, INFINITY, -INFINITY, 1e-45f, 3e38f, 0.0f}) {
    std::vector<float> x(kGroup, odd == 0.0f ? 0.0f : 1.0f);
    x[5] = odd;
    for (const int count : {8, kGroup}) {
      const KQuantGroup group = quantize_k_group(GetParam(), x.data(), count);
      for (const uint8_t q : group.q) ASSERT_LE(q, q_max());
      for (int s = 0; s < format().subgroups(); ++s) {
        ASSERT_LE(std::abs(group.scales[s]), format().offsets ? 63 : 127);
        ASSERT_LE(group.offsets[s % 4], 63);
      }
      if (odd != 0.0f) continue;
      for (int i = 0; i < kGroup; ++i) ASSERT_EQ(value_of(format(), group, i), 0);
    }
  }
}

// A panel takes at most 1.1 times the bytes that a file has: 144, 176 and 210 for 256 weights.
TEST_P(KQuants, take_few_more_bytes_than_in_a_file) {
  const double of_file = format().bits == 4 ? 144 : format().bits == 5 ? 176 : 210;
  const PackedMatrix w = describe_matrix(GetParam(), MatrixLayout::kPanels16, 64, 1024);
  EXPECT_LE(double(w.bytes()), 1.1 * of_file / 256 * 64 * 1024);
  EXPECT_GE(double(w.bytes()), of_file / 256 * 64 * 1024);
}

INSTANTIATE_TEST_SUITE_P(Weights, KQuants,
                         ::testing::Values(WeightType::kQ4K, WeightType::kQ5K, WeightType::kQ6K),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace cascade
