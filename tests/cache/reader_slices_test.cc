// Slices of prompts that are longer than memory: as long as reading makes useful.
#include "cache/reader_slices.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cache/kv_view.h"

namespace cascade {
namespace {

constexpr ReaderSliceLimits kLimits;
constexpr int64_t kMost = 2048;

// A slice of `tokens` tokens that takes `token_us` each to compute, while 1 GB is read in
// `read_us`.
ReaderSlices::Measured slice(int64_t tokens, int64_t token_us, int64_t read_us) {
  const int64_t computing_us = tokens * token_us;
  const int64_t wait_us = std::max<int64_t>(0, read_us - computing_us);
  return {tokens, computing_us + wait_us, 1'000'000'000, read_us, wait_us};
}

int64_t tokens_after(const ReaderSlices::Measured& measured, int64_t most = kMost) {
  ReaderSlices slices(kLimits);
  slices.add(measured);
  return slices.tokens(most);
}

TEST(ReaderSlices, are_usual_until_something_was_read) {
  ReaderSlices slices(kLimits);
  EXPECT_EQ(slices.tokens(kMost), 512);
  slices.add({.tokens = 512, .compute_us = 1'000'000, .read_bytes = 0, .read_us = 0, .wait_us = 0});
  EXPECT_EQ(slices.tokens(kMost), 512);
}

TEST(ReaderSlices, grow_until_reading_is_hidden_behind_computing) {
  // Computing 512 tokens takes 1.024 s and reading 2 s: 1,000 tokens take as long, and a margin.
  EXPECT_EQ(tokens_after(slice(512, 2'000, 2'000'000)), 1216);
  // The length that is measured does not change what is wanted.
  EXPECT_EQ(tokens_after(slice(1216, 2'000, 2'000'000)), 1216);
  EXPECT_EQ(tokens_after(slice(512, 2'000, 60'000'000)), 2048);
  // A disk that is quick enough needs no long slices.
  EXPECT_EQ(tokens_after(slice(2048, 2'000, 100'000)), 512);
}

TEST(ReaderSlices, do_not_let_others_wait_for_long_if_the_disk_allows) {
  EXPECT_EQ(tokens_after(slice(512, 25'000, 1'000'000)), 384);  // 10 s
  EXPECT_EQ(tokens_after(slice(512, 500'000, 1'000'000)), kLimits.tokens_min);
  EXPECT_EQ(tokens_after(slice(512, 25'000, 20'000'000)), 960);
}

TEST(ReaderSlices, are_whole_pages_and_never_longer_than_memory_allows) {
  EXPECT_EQ(tokens_after(slice(512, 2'000, 60'000'000), 700), 640);
  EXPECT_EQ(tokens_after(slice(512, 2'000, 60'000'000), 128), 128);
  EXPECT_EQ(tokens_after(slice(512, 2'000, 60'000'000), 1), kPageTokens);
}

TEST(ReaderSlices, longer_ones_than_usual_are_for_large_memories) {
  EXPECT_EQ(reader_slice_tokens_max(1, kLimits), 512);
  EXPECT_EQ(reader_slice_tokens_max(8 * 3 * 8, kLimits), 512);
  EXPECT_EQ(reader_slice_tokens_max(8 * 3 * 20, kLimits), 20 * kPageTokens);
  EXPECT_EQ(reader_slice_tokens_max(1'000'000, kLimits), 2048);
}

TEST(ReaderSlices, say_how_long_the_rest_of_a_prompt_waits) {
  ReaderSlices slices(kLimits);
  const ReaderSlices::Rest rest = {0, 100'000, 1e6};
  EXPECT_EQ(slices.wait_us(rest, 50'000, 1000, kMost), 0);  // nothing was read yet
  slices.add(slice(512, 2'000, 500'000));                   // 2 GB/s, and slices of 512 tokens
  EXPECT_EQ(slices.wait_us({0, 50'000, 1e6}, 50'000, 1000, kMost), 0);  // all is in memory
  // 98 slices read 25,000 tokens on average: 2.45 GB.
  EXPECT_NEAR(slices.wait_us({0, 100'000, 1e6}, 50'000, 1000, kMost), 0.225e6, 1);
  EXPECT_EQ(slices.wait_us({0, 100'000, 9e6}, 50'000, 1000, kMost), 0);  // hidden
  // The later half reads 37,500 tokens on average.
  EXPECT_NEAR(slices.wait_us({75'000, 100'000, 0}, 50'000, 1000, kMost), 49 * 37.5e6 / 2000, 1);
}

}  // namespace
}  // namespace cascade
