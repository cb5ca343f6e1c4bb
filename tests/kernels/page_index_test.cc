// The index of a page: which clusters its keys become, and how these are stored.
#include "kernels/page_index.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/page_indexes.h"

namespace cascade {
namespace {

using testing::GuardedBytes;
using testing::GuardedFloats;

TEST(PageIndex, clusters_begin_at_keys_that_are_far_from_all_earlier_beginnings) {
  constexpr int kDim = 8;
  std::vector<GuardedFloats> keys(kKvBlockTokens, GuardedFloats(kDim, 1.0f));
  keys[5][0] = 50;
  keys[6][0] = 49;
  keys[9][7] = -70;
  const GuardedBytes index = testing::index_of(KvType::kF32, kDim, keys);
  const uint8_t* counts = index.data() + page_index_counts_offset(kDim);
  EXPECT_EQ(counts[0], 0) << "every key is nearer to another beginning than to the mean";
  EXPECT_EQ(counts[1], 1) << "key 9";
  EXPECT_EQ(counts[2], 2) << "keys 5 and 6";
  EXPECT_EQ(counts[3], 61);
  const auto nibbles = [&](int cluster) { return index.data() + cluster * kDim / 2; };
  EXPECT_EQ(nibbles(1)[0] & 15, 8) << "channel 0 of key 9 is small beside channel 7";
  EXPECT_EQ(nibbles(1)[3] >> 4, 1) << "channel 7 of key 9 is -7 units";
  EXPECT_EQ(nibbles(2)[0] & 15, 15) << "channel 0 of keys 5 and 6 is 7 units";
  for (int j = 0; j < 4; ++j) EXPECT_EQ(nibbles(3)[j], 0xFF) << "all channels are 7 units";
}

TEST(PageIndex, equal_keys_are_one_cluster) {
  const std::vector<GuardedFloats> keys(kKvBlockTokens, GuardedFloats(16, 2.0f));
  const GuardedBytes index = testing::index_of(KvType::kBf16, 16, keys);
  const uint8_t* counts = index.data() + page_index_counts_offset(16);
  EXPECT_EQ(counts[0], kKvBlockTokens);
  EXPECT_EQ(counts[1] + counts[2] + counts[3], 0);
}

}  // namespace
}  // namespace cascade
