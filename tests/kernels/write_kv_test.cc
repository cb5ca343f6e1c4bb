// Storing K and V: every instruction set writes the same bytes as the scalar one and no others, and
// the stored value is within half a step of the number.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/kv_format.h"
#include "tests/kernels/isas.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::GuardedBytes;
using testing::GuardedFloats;
using testing::random_floats;
using testing::scalar;
using testing::test_seed;
using testing::vector_kernels;

struct Blocks {
  Blocks(KvType type, int head_dim)
      : keys(key_block_bytes(type, head_dim), 0xA5),
        values(value_block_bytes(type, head_dim), 0xA5) {}
  GuardedBytes keys, values;
  bool operator==(const Blocks&) const = default;
};

Blocks written(const Kernels& kernels, KvType type, int head_dim, int token,
               const GuardedFloats& key, const GuardedFloats& value) {
  Blocks blocks(type, head_dim);
  kernels.write_kv(type, head_dim, token, key.data(), value.data(), blocks.keys.data(),
                   blocks.values.data());
  return blocks;
}

TEST(WriteKv, every_instruction_set_writes_the_scalar_bytes) {
  const uint64_t seed = test_seed();
  Random random(seed);
  const float odd[] = {0.0f,
                       -0.0f,
                       1e-42f,
                       1e30f,
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()};
  for (const KvType type : kKvTypes) {
    for (const int head_dim : {8, 16, 24, 64, 72, 128, 256, 512}) {
      for (int round = 0; round < 12; ++round) {
        const int token = static_cast<int>(random.below(kKvBlockTokens));
        GuardedFloats key = random_floats(random, head_dim, round % 3 == 0 ? 1e-5f : 1.0f);
        GuardedFloats value = random_floats(random, head_dim, round % 4 == 0 ? 300.0f : 1.0f);
        if (round >= 6) {
          key[random.below(head_dim)] = odd[round % std::size(odd)];
          value[random.below(head_dim)] = odd[(round + 3) % std::size(odd)];
        }
        const Blocks expected = written(scalar(), type, head_dim, token, key, value);
        for (const Kernels* kernels : vector_kernels()) {
          EXPECT_EQ(written(*kernels, type, head_dim, token, key, value), expected)
              << to_string(kernels->isa) << ' ' << to_string(type) << " head_dim " << head_dim
              << " round " << round;
        }
      }
    }
  }
}

TEST(WriteKv, int8_is_off_by_half_a_step_at_most) {
  const uint64_t seed = test_seed();
  Random random(seed);
  constexpr int kHeadDim = 64;
  for (int token = 0; token < kKvBlockTokens; ++token) {
    const GuardedFloats key = random_floats(random, kHeadDim);
    const GuardedFloats value = random_floats(random, kHeadDim);
    const Blocks blocks = written(scalar(), KvType::kInt8, kHeadDim, token, key, value);
    const auto scale_of = [&](const GuardedBytes& block) {
      uint16_t bits;
      std::memcpy(&bits, &block[kv_scales_offset(kHeadDim) + token * sizeof bits], sizeof bits);
      return f16_to_f32(bits);
    };
    const float key_scale = scale_of(blocks.keys), value_scale = scale_of(blocks.values);
    // The scale itself is an f16, so the largest number may be rounded to one step less.
    const float slack = 0.5f + 127 * 0x1p-11f;
    for (int i = 0; i < kHeadDim; ++i) {
      const int q = blocks.keys[key_index(KvType::kInt8, kHeadDim, token, i)] - 128;
      EXPECT_LE(std::fabs(static_cast<float>(q) * key_scale - key[i]), slack * key_scale);
      const auto v =
          static_cast<int8_t>(blocks.values[value_index(KvType::kInt8, kHeadDim, token, i)]);
      EXPECT_LE(std::fabs(static_cast<float>(v) * value_scale - value[i]), slack * value_scale);
    }
  }
}

}  // namespace
}  // namespace cascade
