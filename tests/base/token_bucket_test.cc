// Limits on a rate, and on how many at once.
#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

constexpr int64_t kSecondUs = 1'000'000;

int taken(TokenBucket& bucket, int64_t now_us) {
  int count = 0;
  while (bucket.take(now_us)) ++count;
  return count;
}

TEST(TokenBucket, begins_full_and_fills_at_its_rate) {
  TokenBucket bucket(100, 20);
  EXPECT_EQ(taken(bucket, kSecondUs), 20);
  EXPECT_EQ(taken(bucket, kSecondUs + kSecondUs / 10), 10);
  EXPECT_EQ(taken(bucket, kSecondUs + kSecondUs / 10 + 5000), 0);
  EXPECT_EQ(taken(bucket, kSecondUs + kSecondUs / 10 + 10'000), 1) << "parts add up";
}

TEST(TokenBucket, holds_no_more_than_may_be_taken_at_once) {
  TokenBucket bucket(100, 20);
  EXPECT_EQ(taken(bucket, 0), 20);
  EXPECT_EQ(taken(bucket, 1000 * kSecondUs), 20);
}

TEST(TokenBucket, a_clock_that_goes_back_gives_nothing) {
  TokenBucket bucket(1, 1);
  EXPECT_EQ(taken(bucket, 10 * kSecondUs), 1);
  EXPECT_EQ(taken(bucket, 0), 0);
  EXPECT_EQ(taken(bucket, 10 * kSecondUs), 0);
  EXPECT_EQ(taken(bucket, 11 * kSecondUs), 1);
}

}  // namespace
}  // namespace cascade
