// Values that were encoded in the K types come back as near as the types' steps allow.
#include "tests/model/gguf/k_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "model/tensor_type.h"
#include "tests/model/gguf/convert.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

struct KType {
  GgmlType type;
  TensorType tensor_type;
  size_t part;      // values with a scale
  float steps;      // from a part's lowest value to its highest
  float scale_max;  // the integer of the largest scale
};

constexpr KType kKTypes[] = {
    {kGgmlQ3K, TensorType::kQ3K, 16, 6, 31},
    {kGgmlQ4K, TensorType::kQ4K, 32, 15, 63},
    {kGgmlQ5K, TensorType::kQ5K, 32, 31, 63},
    {kGgmlQ6K, TensorType::kQ6K, 16, 62, 127},
};

// Each 16 values have a centre and a width of their own, so that some parts are positive or
// negative throughout.
std::vector<float> uneven_values(Random& random, size_t count) {
  std::vector<float> values;
  double centre = 0;
  double width = 0;
  while (values.size() < count) {
    if (values.size() % 16 == 0) {
      centre = 2 * random.unit() - 1;
      width = random.unit();
    }
    values.push_back(static_cast<float>(centre + width * (2 * random.unit() - 1)));
  }
  return values;
}

float largest_magnitude(const float* x, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(x[i]));
  return largest;
}

TEST(GgufKBlocks, values_come_back_to_half_a_step) {
  Random random(test_seed());
  for (const KType& k : kKTypes) {
    SCOPED_TRACE(to_string(k.tensor_type));
    const std::vector<float> values = uneven_values(random, 50 * kKBlock);
    const std::vector<float> decoded = decode_values(encode_values(values, k.type), k.type);
    ASSERT_EQ(decoded.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const float of_block = largest_magnitude(&values[i / kKBlock * kKBlock], kKBlock);
      const float of_part = largest_magnitude(&values[i / k.part * k.part], k.part);
      // Rounded scales and offsets move the ends of a part by half a step of theirs each. Over all
      // integers, a step of a scale is at most twice the block's magnitude / scale_max, a step of
      // an offset half of that.
      const float bound = of_part / k.steps + 1.5f * of_block / k.scale_max;
      ASSERT_NEAR(decoded[i], values[i], bound) << "value " << i;
    }
  }
}

TEST(GgufKBlocks, zeros_stay_zeros) {
  Random random(test_seed());
  for (const KType& k : kKTypes) {
    SCOPED_TRACE(to_string(k.tensor_type));
    // One block is all zeros; in the other, every second part of 32 values is.
    std::vector<float> values = uneven_values(random, 2 * kKBlock);
    for (size_t i = 0; i < values.size(); ++i) {
      if (i < kKBlock || i / 32 % 2 == 0) values[i] = 0;
    }
    const std::vector<float> decoded = decode_values(encode_values(values, k.type), k.type);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0) {
        EXPECT_EQ(decoded[i], 0) << "value " << i;
      }
    }
  }
}

TEST(GgufKBlocks, blocks_have_the_bytes_of_their_type) {
  for (const KType& k : kKTypes) {
    const TensorTypeInfo& info = describe(k.tensor_type);
    EXPECT_EQ(info.block_values, kKBlock) << info.name;
    EXPECT_EQ(encode_values(std::vector<float>(3 * kKBlock, 0.5f), k.type).size(),
              3 * info.block_bytes)
        << info.name;
  }
}

}  // namespace
}  // namespace cascade::testing
