// RoPE, compared with the formulas of the papers and of their published code, which are computed
// here in long double.
#include "model/rope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace cascade {
namespace {

using Real = long double;
constexpr Real kPi = std::numbers::pi_v<Real>;

// Su et al. 2021: theta^(-2i/d).
Real plain_frequency(Real theta, int i, int head_dim) {
  return std::pow(theta, -2 * Real(i) / head_dim);
}

void expect_close(double actual, Real expected, int i) {
  EXPECT_NEAR(actual / static_cast<double>(expected), 1.0, 1e-14) << "channel pair " << i;
}

RopeConfig llama3_config() {
  RopeConfig config;
  config.theta = 500000;
  config.scaling = RopeScaling::kLlama3;
  config.factor = 32;
  config.low_freq_factor = 1;
  config.high_freq_factor = 4;
  config.original_context = 8192;
  return config;
}

RopeConfig yarn_config() {
  RopeConfig config;
  config.theta = 1e6;
  config.scaling = RopeScaling::kYarn;
  config.factor = 4;
  config.original_context = 32768;
  config.attention_factor = 0.1 * std::log(4.0) + 1;
  return config;
}

TEST(Rope, plain_frequencies_are_a_geometric_series) {
  for (const double theta : {10000.0, 500000.0, 1e6, 1e7}) {
    for (const int head_dim : {8, 16, 64, 96, 128, 256}) {
      RopeConfig config;
      config.theta = theta;
      const RopeTable table(config, head_dim);
      ASSERT_EQ(table.frequencies().size(), static_cast<size_t>(head_dim / 2));
      for (int i = 0; i < head_dim / 2; ++i) {
        expect_close(table.frequencies()[i], plain_frequency(theta, i, head_dim), i);
      }
    }
  }
}

TEST(Rope, linear_scaling_stretches_all_positions_alike) {
  RopeConfig config;
  config.theta = 10000;
  config.scaling = RopeScaling::kLinear;
  config.factor = 2.5;
  const RopeTable table(config, 128);
  for (int i = 0; i < 64; ++i) {
    expect_close(table.frequencies()[i], plain_frequency(10000, i, 128) / 2.5L, i);
  }
}

TEST(Rope, proportional_scaling_moves_the_first_pairs_only) {
  RopeConfig config;
  config.theta = 1e6;
  config.scaling = RopeScaling::kProportional;
  config.moving_share = 0.25;
  config.factor = 2;
  const RopeTable table(config, 64);
  for (int i = 0; i < 8; ++i) {
    expect_close(table.frequencies()[size_t(i)], plain_frequency(1e6L, i, 64) / 2, i);
  }
  for (size_t i = 8; i < 32; ++i) EXPECT_EQ(table.frequencies()[i], 0) << i;
}

TEST(Rope, longrope_divides_each_frequency_by_its_own_number) {
  RopeConfig config;
  config.theta = 10000;
  config.scaling = RopeScaling::kLongRope;
  config.divisors = {1.0f, 1.5f, 7.25f};
  config.attention_factor = 1.25;
  const RopeTable table(config, 6);
  ASSERT_EQ(table.frequencies().size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const Real divisor = config.divisors[static_cast<size_t>(i)];
    expect_close(table.frequencies()[i], plain_frequency(10000, i, 6) / divisor, i);
  }
  std::vector<float> cos(3), sin(3);
  table.angles(0, cos.data(), sin.data());
  EXPECT_EQ(cos, std::vector<float>(3, 1.25f));
}

TEST(Rope, llama3_keeps_short_waves_stretches_long_ones_and_blends_between) {
  const RopeConfig config = llama3_config();
  const RopeTable table(config, 64);
  int kept = 0, stretched = 0, blended = 0;
  for (int i = 0; i < 32; ++i) {
    const Real plain = plain_frequency(500000, i, 64);
    const Real turns = 8192 / (2 * kPi / plain);  // over the original context
    Real expected;
    if (turns > 4) {
      expected = plain;
      ++kept;
    } else if (turns < 1) {
      expected = plain / 32;
      ++stretched;
    } else {
      const Real share = (turns - 1) / (4 - 1);
      expected = (1 - share) * plain / 32 + share * plain;
      ++blended;
    }
    expect_close(table.frequencies()[i], expected, i);
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(stretched, 0);
  EXPECT_GT(blended, 0);
}

// Computed from the published formula with 50 digits: Llama 3.2 (factor 32, head_dim 64).
TEST(Rope, llama3_has_the_known_values) {
  const RopeTable table(llama3_config(), 64);
  const std::vector<std::pair<int, double>> known = {{0, 1.0},
                                                     {1, 0.6636012376960884433},
                                                     {10, 0.01656044008099444554},
                                                     {14, 0.003211445994752591018},
                                                     {15, 0.001290547928209263818},
                                                     {16, 0.0004295567965593682005},
                                                     {17, 0.00009708287802627672262},
                                                     {18, 0.00001946163818483112434},
                                                     {31, 9.418306725434909839e-8}};
  for (const auto& [i, value] : known) expect_close(table.frequencies()[i], value, i);
}

// Peng et al. 2023, with the correction range of the published code: whole channels, unless
// `truncate` is off.
std::vector<Real> yarn_expected(const RopeConfig& config, int head_dim) {
  const auto channel = [&](Real turns) {
    return head_dim * std::log(Real(config.original_context) / (turns * 2 * kPi)) /
           (2 * std::log(Real(config.theta)));
  };
  Real low = channel(config.beta_fast), high = channel(config.beta_slow);
  if (config.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max<Real>(low, 0);
  high = std::min<Real>(high, head_dim - 1);
  if (low == high) high += 0.001L;
  std::vector<Real> expected(head_dim / 2);
  for (int i = 0; i < head_dim / 2; ++i) {
    const Real ramp = std::clamp<Real>((i - low) / (high - low), 0, 1);
    const Real plain = plain_frequency(config.theta, i, head_dim);
    expected[i] = plain / config.factor * ramp + plain * (1 - ramp);
  }
  return expected;
}

TEST(Rope, yarn_interpolates_slow_channels_only) {
  RopeConfig config = yarn_config();
  for (const bool truncate : {true, false}) {
    for (const double beta_fast : {32.0, 64.0, 8.0}) {
      for (const int head_dim : {64, 128}) {
        config.truncate = truncate;
        config.beta_fast = beta_fast;
        const RopeTable table(config, head_dim);
        const std::vector<Real> expected = yarn_expected(config, head_dim);
        for (int i = 0; i < head_dim / 2; ++i) {
          expect_close(table.frequencies()[i], expected[i], i);
        }
        // These hold for the method whatever its details.
        expect_close(table.frequencies().front(), 1, 0);
        const int last = head_dim / 2 - 1;
        expect_close(table.frequencies().back(), plain_frequency(1e6, last, head_dim) / 4, last);
      }
    }
  }
}

TEST(Rope, yarn_survives_an_empty_correction_range) {
  RopeConfig config = yarn_config();
  config.original_context = 8;  // every wave is slow: both ends are clamped to 0
  config.beta_fast = config.beta_slow = 1;
  const RopeTable table(config, 64);
  const std::vector<Real> expected = yarn_expected(config, 64);
  for (int i = 0; i < 32; ++i) expect_close(table.frequencies()[i], expected[i], i);
}

TEST(Rope, angles_at_position_zero_do_not_rotate) {
  RopeConfig config;
  config.theta = 10000;
  std::vector<float> cos(32), sin(32);
  RopeTable(config, 64).angles(0, cos.data(), sin.data());
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(cos[i], 1.0f);
    EXPECT_EQ(sin[i], 0.0f);
  }
}

TEST(Rope, the_attention_factor_scales_both) {
  const RopeConfig config = yarn_config();
  std::vector<float> cos(64), sin(64);
  RopeTable(config, 128).angles(0, cos.data(), sin.data());
  EXPECT_FLOAT_EQ(cos[0], static_cast<float>(1 + 0.1 * std::log(4.0)));
  EXPECT_EQ(sin[0], 0.0f);
  RopeTable(config, 128).angles(7777, cos.data(), sin.data());
  for (int i = 0; i < 64; ++i) {
    EXPECT_NEAR(std::hypot(cos[i], sin[i]), 1 + 0.1 * std::log(4.0), 1e-6);
  }
}

TEST(Rope, angles_are_exact_to_f32_at_any_position) {
  for (const RopeConfig& config : {llama3_config(), yarn_config()}) {
    const RopeTable table(config, 128);
    std::vector<float> cos(64), sin(64);
    for (const int64_t position : {1, 63, 64, 4095, 32'000, 131'071, 1'000'000, 16'777'217}) {
      table.angles(position, cos.data(), sin.data());
      for (int i = 0; i < 64; ++i) {
        const Real angle = static_cast<Real>(position) * Real(table.frequencies()[i]);
        const Real factor = config.attention_factor;
        // The tolerance is half a unit in the last place of f32 near 1, plus the loss of f64 at
        // such angles.
        EXPECT_NEAR(cos[i], static_cast<double>(std::cos(angle) * factor), 7e-8 + 1e-9);
        EXPECT_NEAR(sin[i], static_cast<double>(std::sin(angle) * factor), 7e-8 + 1e-9);
      }
    }
  }
}

TEST(Rope, an_angle_depends_on_its_position_alone) {
  const RopeTable table(llama3_config(), 64), again(llama3_config(), 64);
  std::vector<float> a(64), b(64);
  table.angles(999, a.data(), a.data() + 32);
  table.angles(5, b.data(), b.data() + 32);
  again.angles(999, b.data(), b.data() + 32);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace cascade
