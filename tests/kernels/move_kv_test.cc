// Moving stored K and V: a token is the same at its new place, and nothing else changes.
#include "kernels/move_kv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/kv_format.h"
#include "kernels/write_kv.h"
#include "tests/kernels/isas.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::GuardedBytes;
using testing::GuardedFloats;
using testing::random_floats;
using testing::test_seed;

struct MovedBlocks {
  MovedBlocks(KvType type, int head_dim)
      : keys(key_block_bytes(type, head_dim), 0x3C),
        values(value_block_bytes(type, head_dim), 0x3C) {}
  void write(KvType type, int head_dim, int token, const GuardedFloats& key,
             const GuardedFloats& value) {
    write_kv(type, head_dim, token, key.data(), value.data(), keys.data(), values.data());
  }
  bool operator==(const MovedBlocks&) const = default;
  GuardedBytes keys, values;
};

TEST(MoveKv, a_copied_token_has_the_bytes_that_writing_it_there_gives) {
  Random random(test_seed());
  for (const KvType type : kKvTypes) {
    for (const int head_dim : {8, 24, 64, 128}) {
      const auto from = static_cast<int>(random.below(kKvBlockTokens));
      const auto to = static_cast<int>(random.below(kKvBlockTokens));
      const GuardedFloats key = random_floats(random, head_dim);
      const GuardedFloats value = random_floats(random, head_dim);
      MovedBlocks source(type, head_dim), copied(type, head_dim), written(type, head_dim);
      source.write(type, head_dim, from, key, value);
      written.write(type, head_dim, to, key, value);
      copy_kv(type, head_dim, {source.keys.data(), source.values.data()}, from,
              {copied.keys.data(), copied.values.data()}, to);
      EXPECT_EQ(copied, written) << to_string(type) << ' ' << head_dim;
      MovedBlocks value_only(type, head_dim);
      copy_value(type, head_dim, source.values.data(), from, value_only.values.data(), to);
      EXPECT_EQ(value_only.values, written.values);
    }
  }
}

TEST(MoveKv, a_key_is_read_as_it_was_rounded) {
  Random random(test_seed());
  for (const KvType type : kKvTypes) {
    for (const int head_dim : {8, 24, 64, 128}) {
      for (int token = 0; token < kKvBlockTokens; token += 7) {
        const GuardedFloats key = random_floats(random, head_dim);
        MovedBlocks blocks(type, head_dim), again(type, head_dim);
        blocks.write(type, head_dim, token, key, key);
        std::vector<float> read(static_cast<size_t>(head_dim));
        read_key(type, head_dim, token, blocks.keys.data(), read.data());
        float largest = 0;
        for (int i = 0; i < head_dim; ++i) largest = std::max(largest, std::abs(key[i]));
        for (int i = 0; i < head_dim; ++i) {
          const float step = type == KvType::kInt8  ? largest / 127
                             : type == KvType::kFp8 ? std::abs(key[i]) / 8 + largest / 4096
                                                    : std::abs(key[i]) / 128 + 0x1p-23f;
          EXPECT_NEAR(read[i], key[i], step / 2 * 1.01f) << to_string(type);
        }
        write_key(type, head_dim, token, read.data(), again.keys.data());
        std::vector<float> twice(read.size());
        read_key(type, head_dim, token, again.keys.data(), twice.data());
        for (int i = 0; i < head_dim; ++i)
          EXPECT_NEAR(twice[i], read[i], 1e-3f * std::abs(read[i]));
      }
    }
  }
}

}  // namespace
}  // namespace cascade
