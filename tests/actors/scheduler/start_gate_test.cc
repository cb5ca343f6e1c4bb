// Clients that ask while the daemon starts.
#include "actors/scheduler/start_gate.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"

namespace cascade {
namespace {

class StartGateTest : public ::testing::Test {
 protected:
  StartGateTest() { outbox_.connect(Actor::kGateway, "alice"); }
  static wire::Envelope request(uint8_t number) { return {{number}, wire::StatusRequest{}}; }

  FakeClock clock_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  StartGate gate_{outbox_};
  const Client one_ = {"alice", "1", Door::kIpc};
  const Client two_ = {"alice", "2", Door::kIpc};
};

TEST_F(StartGateTest, gives_back_the_requests_in_their_order_when_it_opens) {
  EXPECT_FALSE(gate_.is_open());
  gate_.park(one_, request(1));
  gate_.park(two_, request(2));
  gate_.park(one_, request(3));
  const std::vector<StartGate::Parked> parked = gate_.open();
  EXPECT_TRUE(gate_.is_open());
  ASSERT_EQ(parked.size(), 3u);
  EXPECT_EQ(parked[0].first, one_);
  EXPECT_EQ(parked[1].first, two_);
  EXPECT_EQ(parked[2].second.request[0], 3);
  EXPECT_TRUE(outbox_.take().empty());
}

TEST_F(StartGateTest, forgets_the_requests_of_a_client_that_is_gone) {
  gate_.park(one_, request(1));
  gate_.park(two_, request(2));
  gate_.client_gone(one_);
  EXPECT_EQ(gate_.open().size(), 1u);
}

TEST_F(StartGateTest, refuses_more_requests_than_it_keeps) {
  for (size_t i = 0; i < StartGate::kParkedMax; ++i) gate_.park(one_, request(1));
  EXPECT_TRUE(outbox_.take().empty());
  gate_.park(two_, request(2));
  const std::vector<Outgoing> refused = outbox_.take();
  ASSERT_EQ(refused.size(), 1u);
  const auto& reply = std::get<wire::ErrorReply>(refused[0].envelope.message);
  EXPECT_EQ(reply.error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(reply.retry_after_ms, StartGate::kRetryMs);
  EXPECT_EQ(gate_.open().size(), StartGate::kParkedMax);
}

}  // namespace
}  // namespace cascade
