// Which events count in a window of a load, and which do not.
#include "bench/serve/load_window.h"

#include <gtest/gtest.h>

namespace cascade::serve {
namespace {

constexpr int64_t kSecond = 1'000'000;

Exchange answered(int64_t sent_us, int64_t first_us, int64_t ended_us, int64_t tokens) {
  Exchange exchange;
  exchange.sent_us = sent_us;
  exchange.delta_us = {first_us};
  exchange.ended_us = ended_us;
  exchange.final.emplace();
  exchange.final->usage.completion_tokens = tokens;
  return exchange;
}

Exchange refused(int64_t sent_us, int64_t ended_us, int64_t retry_after_ms) {
  Exchange exchange;
  exchange.sent_us = sent_us;
  exchange.ended_us = ended_us;
  exchange.error.emplace();
  exchange.error->error.code = ErrorCode::kResourceExhausted;
  exchange.error->retry_after_ms = retry_after_ms;
  return exchange;
}

TEST(LoadWindow, opens_when_time_has_passed_and_requests_were_answered) {
  LoadWindow window(kSecond, 2 * kSecond, 2);
  EXPECT_FALSE(window.look(4 * kSecond)) << "nothing was answered";
  window.ended(answered(kSecond, kSecond, 2 * kSecond, 5));
  window.ended(refused(kSecond, 2 * kSecond, 1));
  EXPECT_FALSE(window.look(4 * kSecond)) << "a refusal is no answer";
  window.ended(answered(kSecond, kSecond, 2 * kSecond, 5));
  EXPECT_FALSE(window.look(2 * kSecond)) << "too early";
  EXPECT_TRUE(window.look(5 * kSecond));
  EXPECT_EQ(window.begin_us(), 5 * kSecond);
  EXPECT_EQ(window.done(), 0) << "what ended before does not count";
}

TEST(LoadWindow, opens_in_the_end_whatever_happens) {
  LoadWindow window(kSecond, 0, 1);
  EXPECT_FALSE(window.look(LoadWindow::kWarmupUsMax));
  EXPECT_TRUE(window.look(kSecond + LoadWindow::kWarmupUsMax));
}

TEST(LoadWindow, rates_are_those_of_what_ended_in_it) {
  LoadWindow window(kSecond, 0, 0);
  window.sent(9);
  window.unsent();
  ASSERT_TRUE(window.look(2 * kSecond));
  window.sent(3);
  window.sent(4);
  window.unsent();
  window.ended(answered(kSecond, 2 * kSecond, 3 * kSecond, 10));
  window.ended(answered(2 * kSecond, 3 * kSecond, 9 * kSecond, 30));
  window.ended(refused(4 * kSecond, 4 * kSecond + 5000, 100));
  window.ended(refused(4 * kSecond, 4 * kSecond + 7000, 0));
  window.close(10 * kSecond);
  EXPECT_EQ(window.seconds(), 8);
  EXPECT_EQ(window.offered_per_s(), 3.0 / 8);
  EXPECT_EQ(window.unsent_count(), 1);
  EXPECT_EQ(window.done_per_s(), 2.0 / 8);
  EXPECT_EQ(window.tokens_per_s(), 5);
  EXPECT_EQ(window.tokens_per_s_of_parts(2), (std::vector<double>{2.5, 7.5}));
  EXPECT_EQ(window.refused_per_s(), 2.0 / 8);
  EXPECT_EQ(window.first_text_ms(), (std::vector<double>{1000, 1000}));
  EXPECT_EQ(window.total_ms(), (std::vector<double>{2000, 7000}));
  EXPECT_EQ(window.late_ms(), (std::vector<double>{3, 4}));
  ASSERT_EQ(window.refusals().size(), 1u);
  const Refusals& refusals = window.refusals().at("resource_exhausted");
  EXPECT_EQ(refusals.ms, (std::vector<double>{5, 7}));
  EXPECT_EQ(refusals.with_retry_after, 1);
}

}  // namespace
}  // namespace cascade::serve
