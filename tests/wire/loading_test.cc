// What a daemon that loads its model says about the load.
#include "wire/loading.h"

#include <gtest/gtest.h>

#include "wire/frames.h"

namespace cascade::wire {
namespace {

TEST(Loading, is_a_share_that_is_never_whole) {
  EXPECT_EQ(percent_of({0, 0}), std::nullopt);
  EXPECT_EQ(percent_of({7, -1}), std::nullopt);
  EXPECT_EQ(percent_of({0, 1000}), 0);
  EXPECT_EQ(percent_of({409, 1000}), 40);
  EXPECT_EQ(percent_of({1000, 1000}), 99);
  EXPECT_EQ(percent_of({INT64_MAX, 1}), 99);
  EXPECT_EQ(percent_of({INT64_MIN, 1}), 0);
  EXPECT_EQ(percent_of({INT64_MAX / 2, INT64_MAX}), 50);
  EXPECT_EQ(loading_text({0, 0}), "loading");
  EXPECT_EQ(loading_text({409, 1000}), "loading, 40 %");
}

TEST(Loading, travels_with_an_error_and_is_absent_from_others) {
  const Error error = {ErrorCode::kUnavailable, std::string(kLoadingField), "it loads"};
  const auto sent = [](const ErrorReply& reply) {
    const auto envelope = decode(*encode({{}, reply}));
    return std::get<ErrorReply>(envelope->message);
  };
  ErrorReply loading = {error, 500};
  loading.loading = Loading{409, 1000};
  const ErrorReply with = sent(loading);
  ASSERT_TRUE(with.loading.has_value());
  EXPECT_EQ(with.loading->done_bytes, 409);
  EXPECT_EQ(with.loading->total_bytes, 1000);
  EXPECT_EQ(with.retry_after_ms, 500);
  EXPECT_FALSE(sent({error, 500}).loading.has_value());
}

}  // namespace
}  // namespace cascade::wire
