// Narrow floats: every number there and back, every tie, every edge.
#include "base/number_types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade {
namespace {

struct Format {
  std::string name;
  int codes;  // without the sign
  std::function<float(uint32_t)> widen;
  std::function<uint32_t(float)> narrow;
};

const Format kF16 = {"f16", 0x7C00, [](uint32_t c) { return f16_to_f32(uint16_t(c)); },
                     [](float x) { return uint32_t{f32_to_f16(x)}; }};
const Format kE4m3 = {"e4m3", 0x7F, [](uint32_t c) { return e4m3_to_f32(uint8_t(c)); },
                      [](float x) { return uint32_t{f32_to_e4m3(x)}; }};
const Format kBf16 = {"bf16", 0x7F80, [](uint32_t c) { return bf16_to_f32(uint16_t(c)); },
                      [](float x) { return uint32_t{f32_to_bf16(x)}; }};

class NarrowFloats : public ::testing::TestWithParam<Format> {};

TEST_P(NarrowFloats, every_number_comes_back_and_they_ascend) {
  const Format& format = GetParam();
  float before = -1;
  for (int code = 0; code < format.codes; ++code) {
    const float value = format.widen(static_cast<uint32_t>(code));
    ASSERT_GT(value, before) << code;
    ASSERT_EQ(format.narrow(value), static_cast<uint32_t>(code));
    before = value;
  }
}

TEST_P(NarrowFloats, rounds_to_the_nearest_and_ties_to_even) {
  const Format& format = GetParam();
  for (int code = 0; code + 1 < format.codes; ++code) {
    const float low = format.widen(static_cast<uint32_t>(code));
    const float high = format.widen(static_cast<uint32_t>(code + 1));
    const float middle = low + (high - low) / 2;  // exact: an f32 has bits to spare
    const int even = code % 2 == 0 ? code : code + 1;
    ASSERT_EQ(format.narrow(middle), static_cast<uint32_t>(even)) << middle;
    ASSERT_EQ(format.narrow(std::nextafter(middle, 0.0f)), static_cast<uint32_t>(code)) << middle;
    ASSERT_EQ(format.narrow(std::nextafter(middle, INFINITY)), static_cast<uint32_t>(code + 1));
  }
}

TEST_P(NarrowFloats, keep_signs_and_nans) {
  const Format& format = GetParam();
  const uint32_t sign = format.narrow(-0.0f);
  EXPECT_NE(sign, 0u);
  Random random(testing::test_seed());
  for (int i = 0; i < 10'000; ++i) {
    const auto exponent = static_cast<int>(random.below(60)) - 30;
    const float value = std::ldexp(static_cast<float>(random.unit()), exponent);
    ASSERT_EQ(format.narrow(-value), format.narrow(value) | sign) << value;
  }
  EXPECT_TRUE(std::isnan(format.widen(format.narrow(NAN))));
}

INSTANTIATE_TEST_SUITE_P(Formats, NarrowFloats, ::testing::Values(kF16, kE4m3, kBf16),
                         [](const auto& test) { return test.param.name; });

TEST(NarrowFloats, know_their_edges) {
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65519.9f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_f16(INFINITY), 0x7C00);
  EXPECT_EQ(f16_to_f32(1), std::ldexp(1.0f, -24));
  EXPECT_EQ(f16_to_f32(0x83FF), -std::ldexp(1023.0f, -24));
  EXPECT_EQ(f16_to_f32(0x7C00), INFINITY);
  EXPECT_EQ(f16_to_f32(0xFC00), -INFINITY);
  EXPECT_EQ(f32_to_f16(std::ldexp(1.0f, -25)), 0);
  EXPECT_EQ(f32_to_f16(1e-30f), 0);
  EXPECT_EQ(e4m3_to_f32(0x7E), 448.0f);
  EXPECT_EQ(f32_to_e4m3(1e30f), 0x7E) << "saturates";
  EXPECT_EQ(f32_to_e4m3(-INFINITY), 0xFE);
  EXPECT_EQ(e4m3_to_f32(1), std::ldexp(1.0f, -9));
  EXPECT_EQ(e4m3_to_f32(0x38), 1.0f);
}

TEST(NumberTypes, names_come_back) {
  for (const WeightType type : kWeightTypes) {
    EXPECT_EQ(weight_type_from_string(to_string(type)), type);
  }
  for (const KvType type : kKvTypes) EXPECT_EQ(kv_type_from_string(to_string(type)), type);
  EXPECT_EQ(weight_type_from_string("fp8"), std::nullopt);
  EXPECT_EQ(kv_type_from_string("int4"), std::nullopt);
}

}  // namespace
}  // namespace cascade
