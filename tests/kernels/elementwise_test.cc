// Row-wise kernels: equal to the scalar ones bit for bit, and close to the real functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/exp.h"
#include "tests/kernels/isas.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::expect_same_bits;
using testing::GuardedFloats;
using testing::random_floats;
using testing::scalar;
using testing::vector_kernels;

constexpr int kSizes[] = {8, 16, 24, 40, 128, 1024, 1032};

TEST(Exp, is_within_two_units_in_the_last_place) {
  double worst = 0;
  for (double x = -87; x < 88; x += 0.00037) {
    const auto given = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(given));
    worst = std::max(worst, std::fabs(exp_reference(given) - exact) / exact);
  }
  EXPECT_LT(worst, 2 * 0x1p-24 * 2);  // one unit is at most 2^-23 of the value
  EXPECT_EQ(exp_reference(0), 1.0f);
  EXPECT_GT(exp_reference(-INFINITY), 0);
  EXPECT_TRUE(std::isfinite(exp_reference(INFINITY)));
  EXPECT_TRUE(std::isfinite(exp_reference(NAN)));
}

TEST(RmsNorm, equals_scalar_on_every_isa) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : kSizes) {
      for (const int misaligned : {0, 1, 5}) {
        const auto x = random_floats(random, n + misaligned), w = random_floats(random, n);
        GuardedFloats expected(n), actual(n);
        scalar().rms_norm(x.data() + misaligned, w.data(), 1e-6f, n, expected.data());
        kernels->rms_norm(x.data() + misaligned, w.data(), 1e-6f, n, actual.data());
        expect_same_bits(expected, actual);
      }
    }
  }
}

TEST(RmsNorm, normalises_to_unit_mean_square) {
  Random random(testing::test_seed());
  const auto x = random_floats(random, 512, 7);
  const GuardedFloats ones(512, 1);
  GuardedFloats out(512);
  scalar().rms_norm(x.data(), ones.data(), 0, 512, out.data());
  double squares = 0;
  for (const float value : out) squares += double(value) * value;
  EXPECT_NEAR(squares / 512, 1.0, 1e-5);
}

TEST(Rope, equals_scalar_on_every_isa_and_keeps_lengths) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const auto& [head_dim, rotary_dim] :
         {std::pair(8, 8), {8, 6}, {16, 16}, {16, 2}, {64, 64}, {80, 80}, {128, 128}, {128, 96}}) {
      const int heads = 3;
      const auto x = random_floats(random, heads * head_dim);
      GuardedFloats cosines(rotary_dim / 2), sines(rotary_dim / 2);
      for (int i = 0; i < rotary_dim / 2; ++i) {
        const double angle = 6.3 * random.unit();
        cosines[i] = static_cast<float>(std::cos(angle));
        sines[i] = static_cast<float>(std::sin(angle));
      }
      auto expected = x, actual = x;
      scalar().rope(expected.data(), heads, head_dim, rotary_dim, cosines.data(), sines.data());
      kernels->rope(actual.data(), heads, head_dim, rotary_dim, cosines.data(), sines.data());
      expect_same_bits(expected, actual);
      for (int i = 0; i < heads * head_dim; ++i) {
        if (i % head_dim < rotary_dim) continue;
        ASSERT_EQ(actual[i], x[i]) << "not rotated";
      }
      double before = 0, after = 0;
      for (const float value : x) before += double(value) * value;
      for (const float value : actual) after += double(value) * value;
      EXPECT_NEAR(after, before, before * 1e-5);
    }
  }
}

TEST(SiluMul, equals_scalar_on_every_isa) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : kSizes) {
      const auto gate = random_floats(random, n, 10), up = random_floats(random, n);
      GuardedFloats expected(n), actual(n);
      scalar().silu_mul(gate.data(), up.data(), n, expected.data());
      kernels->silu_mul(gate.data(), up.data(), n, actual.data());
      expect_same_bits(expected, actual);
      for (int i = 0; i < n; ++i) {
        const double exact = double(gate[i]) / (1 + std::exp(-double(gate[i]))) * up[i];
        ASSERT_NEAR(expected[i], exact, std::fabs(exact) * 1e-6 + 1e-30);
      }
    }
  }
}

TEST(GeluTanhMul, equals_scalar_on_every_isa_and_the_real_function) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : kSizes) {
      auto gate = random_floats(random, n, 6);
      const auto up = random_floats(random, n);
      gate[0] = 1e30f;
      gate[1] = -100.0f;
      gate[2] = NAN;
      gate[3] = -1e-20f;
      GuardedFloats expected(n), actual(n);
      scalar().gelu_tanh_mul(gate.data(), up.data(), n, expected.data());
      kernels->gelu_tanh_mul(gate.data(), up.data(), n, actual.data());
      expect_same_bits(expected, actual);
      EXPECT_TRUE(std::isnan(actual[2]));
      for (int i = 0; i < n; ++i) {
        if (i == 2) continue;
        const double x = gate[i];
        // x / (1 + exp(-2 u)) is the usual 0.5 x (1 + tanh(u)) without its cancellation.
        const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
        const double exact = x / (1 + std::exp(-2 * u)) * up[i];
        // The exponent, up to some 40 where the result matters, is rounded to 24 bits.
        ASSERT_NEAR(expected[i], exact, std::fabs(exact) * 1e-5 + 1e-30) << x;
      }
    }
  }
}

TEST(ClampedSwiglu, equals_scalar_on_every_isa_and_the_real_function) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : kSizes) {
      auto gate = random_floats(random, n, 12), up = random_floats(random, n, 12);
      gate[0] = NAN;
      up[1] = NAN;
      gate[2] = -1e30f;
      up[3] = -INFINITY;
      gate[4] = INFINITY;
      GuardedFloats expected(n), actual(n);
      scalar().clamped_swiglu(gate.data(), up.data(), n, expected.data());
      kernels->clamped_swiglu(gate.data(), up.data(), n, actual.data());
      expect_same_bits(expected, actual);
      EXPECT_TRUE(std::isnan(actual[0]));
      EXPECT_TRUE(std::isnan(actual[1]));
      for (int i = 2; i < n; ++i) {
        const double g = std::min(double(gate[i]), 7.0);
        const double u = std::clamp(double(up[i]), -7.0, 7.0);
        const double exact = g / (1 + std::exp(-1.702 * g)) * (u + 1);
        // u + 1 is rounded where it is near 0.
        const double bound = std::fabs(exact) * 2e-5 + std::fabs(g) * 1e-6 + 1e-30;
        ASSERT_NEAR(expected[i], exact, bound) << gate[i] << " " << up[i];
      }
    }
  }
}

TEST(SoftCap, equals_scalar_on_every_isa_and_the_real_function) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : {1, 5, 8, 16, 17, 31, 40, 1032, 8191}) {
      for (const float cap : {0.01f, 1.0f, 30.0f, 50.0f, 1e6f}) {
        auto x = random_floats(random, n, 3 * double(cap));
        for (int i = 0; i < n; i += 3) x[i] *= 1e-4f;  // the cap is almost linear there
        if (n > 8) x[1] = NAN, x[2] = 0, x[4] = 1e30f, x[5] = -1e30f, x[7] = 1e-30f;
        auto expected = x, actual = x;
        scalar().soft_cap(expected.data(), cap, n);
        kernels->soft_cap(actual.data(), cap, n);
        expect_same_bits(expected, actual);
        for (int i = 0; i < n; ++i) {
          if (std::isnan(x[i])) {
            ASSERT_TRUE(std::isnan(actual[i]));
            continue;
          }
          const double exact = cap * std::tanh(double(x[i]) / cap);
          ASSERT_NEAR(actual[i], exact, std::fabs(exact) * 1e-6 + 1e-36) << x[i] << ", " << cap;
        }
      }
    }
  }
}

TEST(SigmoidMul, equals_scalar_on_every_isa_and_the_real_function) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : kSizes) {
      auto gate = random_floats(random, n, 6);
      const auto up = random_floats(random, n);
      gate[0] = 1e30f;
      gate[1] = -1e30f;
      gate[2] = -50.0f;
      GuardedFloats expected(n), actual(n);
      scalar().sigmoid_mul(gate.data(), up.data(), n, expected.data());
      kernels->sigmoid_mul(gate.data(), up.data(), n, actual.data());
      expect_same_bits(expected, actual);
      for (int i = 0; i < n; ++i) {
        const double exact = double(up[i]) / (1 + std::exp(-double(gate[i])));
        ASSERT_NEAR(expected[i], exact, std::fabs(exact) * 1e-6 + 1e-30);
      }
    }
  }
}

TEST(MultiplyRows, equals_scalar_on_every_isa) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : kSizes) {
      const auto x = random_floats(random, n), y = random_floats(random, n);
      auto expected = x, actual = x;
      scalar().multiply_rows(expected.data(), y.data(), n);
      kernels->multiply_rows(actual.data(), y.data(), n);
      expect_same_bits(expected, actual);
      for (int i = 0; i < n; ++i) ASSERT_EQ(expected[i], x[i] * y[i]);
    }
  }
}

TEST(Multiply, equals_scalar_on_every_isa) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : {1, 7, 8, 16, 17, 31, 40, 1032}) {
      const auto x = random_floats(random, n);
      auto expected = x, actual = x;
      scalar().multiply(expected.data(), 0.22f, n);
      kernels->multiply(actual.data(), 0.22f, n);
      expect_same_bits(expected, actual);
      for (int i = 0; i < n; ++i) ASSERT_EQ(expected[i], x[i] * 0.22f);
    }
  }
}

TEST(AddScaled, equals_scalar_on_every_isa) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : kSizes) {
      const auto x = random_floats(random, n), y = random_floats(random, n);
      auto expected = x, actual = x;
      scalar().add_scaled(expected.data(), y.data(), 0.37f, n);
      kernels->add_scaled(actual.data(), y.data(), 0.37f, n);
      expect_same_bits(expected, actual);
      for (int i = 0; i < n; ++i) ASSERT_EQ(expected[i], std::fmaf(y[i], 0.37f, x[i]));
    }
  }
}

TEST(Add, equals_scalar_on_every_isa) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : kSizes) {
      const auto x = random_floats(random, n), y = random_floats(random, n);
      auto expected = x, actual = x;
      scalar().add(expected.data(), y.data(), n);
      kernels->add(actual.data(), y.data(), n);
      expect_same_bits(expected, actual);
    }
  }
}

TEST(LogSumExp, equals_scalar_on_every_isa_and_the_real_function) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int n : {1, 7, 16, 17, 1024, 1025, 8192, 151936}) {
      const auto x = random_floats(random, n, 8);
      const double expected = scalar().log_sum_exp(x.data(), n);
      const double actual = kernels->log_sum_exp(x.data(), n);
      EXPECT_EQ(std::memcmp(&expected, &actual, sizeof expected), 0) << n;
      double largest = -INFINITY, total = 0;
      for (const float value : x) largest = std::max<double>(largest, value);
      for (const float value : x) total += std::exp(value - largest);
      EXPECT_NEAR(expected, largest + std::log(total), 2e-6);
    }
  }
}

}  // namespace
}  // namespace cascade
