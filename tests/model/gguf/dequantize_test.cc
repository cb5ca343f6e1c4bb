// The block formats, compared with the reference tool's values and, value by value, with the
// layouts.
#include <gtest/gtest.h>

#include <functional>

#include "base/number_types.h"
#include "base/random.h"
#include "model/gguf/dequantize.h"
#include "model/gguf/files.h"
#include "model/gguf/tensor_digest.h"
#include "tests/model/tokenizer/testing.h"
#include "tests/seed.h"
#include "tests/shared_dir.h"

namespace cascade::testing {
namespace {

class GgufTypes : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufTypes, values_are_those_of_the_reference) {
  const auto base = fixtures_dir() / "gguf-types" / (std::string("tiny-") + GetParam());
  const auto files = GgufFiles::open(base.string() + ".gguf");
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  const Json expected = read_json(base.string() + ".tensors.json");
  ASSERT_GE(expected.size(), 20u);
  ASSERT_EQ(files->parts().front().header.tensors.size(), expected.size());
  for (const auto& [name, reference] : expected.items()) {
    const auto [tensor, bytes] = files->find(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(Json(tensor->dimensions), reference["shape"]) << name;
    EXPECT_EQ(digest_of_values(*tensor, bytes).hex(), reference["sha256_f32"].get<std::string>())
        << name << ", " << to_string(tensor->type);
  }
}
INSTANTIATE_TEST_SUITE_P(Files, GgufTypes,
                         ::testing::Values("F16", "BF16", "Q8_0", "Q4_0", "Q5_0", "Q6_K",
                                           "Q4_K_M"));

using Bytes = std::vector<uint8_t>;

// Bits of a block, counted from the lowest bit of byte `at`. The layouts here say where the bits of
// value i are, without the loops of a reader.
unsigned bits(const Bytes& block, size_t at, size_t first_bit, size_t count) {
  unsigned value = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t bit = first_bit + i;
    value |= (block[at + bit / 8] >> (bit % 8) & 1u) << i;
  }
  return value;
}

double half(const Bytes& block, size_t at) {
  return f16_to_f32(static_cast<uint16_t>(block[at] | block[at + 1] << 8));
}

// A scale or an offset of Q4_K or Q5_K, whose 12 bytes begin at `at`.
unsigned six_bits(const Bytes& block, size_t at, size_t i, bool is_offset) {
  const size_t low = at + (is_offset ? 4 : 0);
  if (i < 4) return bits(block, low + i, 0, 6);
  return bits(block, at + 4 + i, is_offset ? 4 : 0, 4) | bits(block, low + i - 4, 6, 2) << 4;
}

struct Layout {
  TensorType type;
  std::vector<size_t> halves;  // where the f16 numbers are
  std::function<double(const Bytes&, size_t)> value;
};

constexpr double kTable[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                             1,    13,   25,  38,  53,  69,  89,  113};

// The nibble of value i of a block of 32.
unsigned nibble32(const Bytes& b, size_t at, size_t i) {
  return bits(b, at + i % 16, i / 16 * 4, 4);
}
// Value i of Q4_K or Q5_K: 64 values in 32 bytes.
unsigned nibble64(const Bytes& b, size_t at, size_t i) {
  return bits(b, at + i / 64 * 32 + i % 32, i % 64 / 32 * 4, 4);
}
// Value i of Q2_K or Q3_K: 128 values in 32 bytes.
unsigned pair128(const Bytes& b, size_t at, size_t i) {
  return bits(b, at + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2);
}

std::vector<Layout> small_layouts() {
  return {
      {TensorType::kQ4_0,
       {0},
       [](const Bytes& b, size_t i) { return (nibble32(b, 2, i) - 8.0) * half(b, 0); }},
      {TensorType::kQ4_1,
       {0, 2},
       [](const Bytes& b, size_t i) { return nibble32(b, 4, i) * half(b, 0) + half(b, 2); }},
      {TensorType::kQ5_0,
       {0},
       [](const Bytes& b, size_t i) {
         return (nibble32(b, 6, i) + 16.0 * bits(b, 2, i, 1) - 16) * half(b, 0);
       }},
      {TensorType::kQ5_1,
       {0, 2},
       [](const Bytes& b, size_t i) {
         return (nibble32(b, 8, i) + 16.0 * bits(b, 4, i, 1)) * half(b, 0) + half(b, 2);
       }},
      {TensorType::kQ8_0,
       {0},
       [](const Bytes& b, size_t i) { return static_cast<int8_t>(b[2 + i]) * half(b, 0); }},
      {TensorType::kIq4Nl,
       {0},
       [](const Bytes& b, size_t i) { return kTable[nibble32(b, 2, i)] * half(b, 0); }},
  };
}

std::vector<Layout> large_layouts() {
  return {
      {TensorType::kQ2K,
       {80, 82},
       [](const Bytes& b, size_t i) {
         return half(b, 80) * bits(b, i / 16, 0, 4) * pair128(b, 16, i) -
                half(b, 82) * bits(b, i / 16, 4, 4);
       }},
      {TensorType::kQ3K,
       {108},
       [](const Bytes& b, size_t i) {
         const size_t s = i / 16;
         const double scale =
             bits(b, 96 + s % 8, s / 8 * 4, 4) + 16.0 * bits(b, 104 + s % 4, s / 4 * 2, 2) - 32;
         return half(b, 108) * scale * (pair128(b, 32, i) + 4.0 * bits(b, i % 32, i / 32, 1) - 4);
       }},
      {TensorType::kQ4K,
       {0, 2},
       [](const Bytes& b, size_t i) {
         return half(b, 0) * six_bits(b, 4, i / 32, false) * nibble64(b, 16, i) -
                half(b, 2) * six_bits(b, 4, i / 32, true);
       }},
      {TensorType::kQ5K,
       {0, 2},
       [](const Bytes& b, size_t i) {
         const double q = nibble64(b, 48, i) + 16.0 * bits(b, 16 + i % 32, i / 32, 1);
         return half(b, 0) * six_bits(b, 4, i / 32, false) * q -
                half(b, 2) * six_bits(b, 4, i / 32, true);
       }},
      {TensorType::kQ6K,
       {208},
       [](const Bytes& b, size_t i) {
         const double low = bits(b, i / 128 * 64 + i % 64, i % 128 / 64 * 4, 4);
         const double top = bits(b, 128 + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2);
         return half(b, 208) * static_cast<int8_t>(b[192 + i / 16]) * (low + 16 * top - 32);
       }},
      {TensorType::kIq4Xs,
       {0},
       [](const Bytes& b, size_t i) {
         const size_t s = i / 32;
         const double scale = bits(b, 4, 4 * s, 4) + 16.0 * bits(b, 2, 2 * s, 2) - 32;
         return half(b, 0) * scale * kTable[nibble32(b, 8 + 16 * s, i % 32)];
       }},
  };
}

// In f64 every layout's formula is exact except for the last addition. Rounding its result to f32
// therefore gives the same as the formats' definition, which rounds there.
TEST(GgufDequantize, every_value_of_random_blocks_is_as_the_layout_has_it) {
  Random random(test_seed());
  std::vector<Layout> layouts = small_layouts();
  for (Layout& layout : large_layouts()) layouts.push_back(std::move(layout));
  for (const Layout& layout : layouts) {
    const TensorTypeInfo& info = describe(layout.type);
    for (int trial = 0; trial < 50; ++trial) {
      Bytes block(info.block_bytes);
      for (uint8_t& byte : block) byte = static_cast<uint8_t>(random.below(256));
      for (const size_t at : layout.halves) block[at + 1] &= 0xBB;  // no infinities, no NaN
      std::vector<float> values(info.block_values);
      dequantize_blocks(layout.type, block.data(), values.size(), values.data());
      for (size_t i = 0; i < values.size(); ++i) {
        const auto expected = static_cast<float>(layout.value(block, i));
        ASSERT_EQ(values[i], expected) << to_string(layout.type) << ", value " << i;
      }
    }
  }
}

TEST(GgufDequantize, blocks_stand_one_after_another) {
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kQ6K, TensorType::kIq4Nl}) {
    const TensorTypeInfo& info = describe(type);
    Bytes blocks(3 * info.block_bytes);
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<uint8_t>(i * 37 % 120);
    std::vector<float> all(3 * info.block_values);
    dequantize_blocks(type, blocks.data(), all.size(), all.data());
    std::vector<float> one(info.block_values);
    dequantize_blocks(type, blocks.data() + 2 * info.block_bytes, one.size(), one.data());
    const std::vector<float> last(all.end() - info.block_values, all.end());
    EXPECT_EQ(last, one) << to_string(type);
  }
}

}  // namespace
}  // namespace cascade::testing
