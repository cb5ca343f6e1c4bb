// Slices of prompts that are longer than memory: as long as reading makes useful.
#include "cache/reader_slices.h"

#include <gtest/gtest.h>

#include "cache/kv_view.h"

namespace cascade {
namespace {

constexpr ReaderSliceLimits kLimits;
constexpr int64_t kMost = 2048;

// The tokens of a slice that reads 1 GB in `read_us`, if a token takes `token_us` to compute.
int64_t tokens_for(double token_us, int64_t read_us, int64_t most = kMost) {
  ReaderSlices slices(kLimits);
  slices.add_read(1'000'000'000, read_us);
  return slices.next_tokens({token_us, 1e9}, most);
}

TEST(ReaderSlices, are_usual_until_speeds_are_known) {
  ReaderSlices slices(kLimits);
  EXPECT_EQ(slices.next_tokens({}, kMost), 512);
  EXPECT_EQ(slices.next_tokens({2'000, 1e9}, kMost), 512);
  slices.add_read(0, 1'000);
  slices.add_read(1'000, 0);
  EXPECT_EQ(slices.next_tokens({2'000, 1e9}, kMost), 512);
  slices.add_read(1'000'000, 1'000'000);
  EXPECT_EQ(slices.next_tokens({0, 1e9}, kMost), 512);
}

TEST(ReaderSlices, grow_until_reading_is_hidden_behind_computing) {
  // Computing 512 tokens takes 1.024 s and reading 2 s: 1,000 tokens take as long, and a margin.
  EXPECT_EQ(tokens_for(2'000, 2'000'000), 1216);
  EXPECT_EQ(tokens_for(2'000, 60'000'000), 2048);
  // A disk that is quick enough needs no long slices, and neither does a slice that reads little.
  EXPECT_EQ(tokens_for(2'000, 100'000), 512);
  ReaderSlices slices(kLimits);
  slices.add_read(1'000'000'000, 2'000'000);
  EXPECT_EQ(slices.next_tokens({2'000, 1e6}, kMost), 512);
  EXPECT_EQ(slices.next_tokens({2'000, 0}, kMost), 512);
}

TEST(ReaderSlices, follow_the_latest_reads) {
  ReaderSlices slices(kLimits);
  slices.add_read(1'000'000'000, 2'000'000);
  for (int i = 0; i < 20; ++i) slices.add_read(1'000'000, 4'000);
  EXPECT_NEAR(static_cast<double>(slices.next_tokens({4'000, 1e9}, kMost)), 1216, 64);
}

TEST(ReaderSlices, do_not_let_others_wait_for_long_if_the_disk_allows) {
  EXPECT_EQ(tokens_for(25'000, 1'000'000), 384);  // 10 s
  EXPECT_EQ(tokens_for(500'000, 1'000'000), kLimits.tokens_min);
  EXPECT_EQ(tokens_for(25'000, 20'000'000), 960);
}

TEST(ReaderSlices, are_whole_pages_and_never_longer_than_memory_allows) {
  EXPECT_EQ(tokens_for(2'000, 60'000'000, 700), 640);
  EXPECT_EQ(tokens_for(2'000, 60'000'000, 128), 128);
  EXPECT_EQ(tokens_for(2'000, 60'000'000, 1), kPageTokens);
}

TEST(ReaderSlices, longer_ones_than_usual_are_for_large_memories) {
  EXPECT_EQ(reader_slice_tokens_max(1, kLimits), 512);
  EXPECT_EQ(reader_slice_tokens_max(8 * 3 * 8, kLimits), 512);
  EXPECT_EQ(reader_slice_tokens_max(8 * 3 * 20, kLimits), 20 * kPageTokens);
  EXPECT_EQ(reader_slice_tokens_max(1'000'000, kLimits), 2048);
}

TEST(ReaderSlices, wait_for_what_computing_does_not_hide) {
  ReaderSlices slices(kLimits);
  EXPECT_EQ(slices.wait_us(10'000, {100, 1e9}, 512), 0);  // nothing was read yet
  slices.add_read(1'000'000'000, 500'000);
  // 20 slices read for half a second each, and compute for 51 ms.
  EXPECT_NEAR(slices.wait_us(20 * 512, {100, 1e9}, 512), 20 * (500'000 - 51'200), 1);
  EXPECT_EQ(slices.wait_us(20 * 512, {1'000, 1e9}, 512), 0);
}

}  // namespace
}  // namespace cascade
