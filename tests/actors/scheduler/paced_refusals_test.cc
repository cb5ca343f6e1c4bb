// Refusals beyond a rate wait for their turn.
#include "actors/scheduler/paced_refusals.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace cascade {
namespace {

constexpr int64_t kSecondUs = 1'000'000;

Refusal refusal(const std::string& tenant, uint8_t number = 0) {
  return {{tenant, "client"}, {number}, resource_exhausted("", "the queue is full")};
}

// Refuses one request. Returns whether it is answered at once.
bool refuse(PacedRefusals& refusals, const std::string& tenant, int64_t now_us,
            uint8_t number = 0) {
  if (refusals.may_answer(tenant, now_us)) return true;
  refusals.hold(refusal(tenant, number));
  return false;
}

TEST(PacedRefusals, are_answered_at_once_up_to_the_rate) {
  PacedRefusals refusals(10);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(refuse(refusals, "a", 0)) << i;
  EXPECT_FALSE(refuse(refusals, "a", 0));
  EXPECT_FALSE(refuse(refusals, "b", 0)) << "the rate is that of all";
  EXPECT_EQ(refusals.waiting(), 2u);
  EXPECT_TRUE(refusals.has_waiting("b"));
  EXPECT_FALSE(refusals.has_waiting("c"));
  EXPECT_EQ(refusals.take_due(0).size(), 0u);
  EXPECT_EQ(refusals.take_due(kSecondUs / 10).size(), 1u);
  EXPECT_EQ(refusals.take_due(kSecondUs).size(), 1u);
  EXPECT_EQ(refusals.waiting(), 0u);
  EXPECT_TRUE(refuse(refusals, "a", kSecondUs));
}

TEST(PacedRefusals, know_which_requests_wait) {
  PacedRefusals refusals(1);
  refuse(refusals, "a", 0, 1);
  refuse(refusals, "a", 0, 2);
  EXPECT_FALSE(refusals.has_waiting({"a", "client"}, {1})) << "it is answered";
  EXPECT_TRUE(refusals.has_waiting({"a", "client"}, {2}));
  EXPECT_FALSE(refusals.has_waiting({"a", "other"}, {2}));
  EXPECT_EQ(refusals.take_due(kSecondUs).size(), 1u);
  EXPECT_FALSE(refusals.has_waiting({"a", "client"}, {2}));
}

TEST(PacedRefusals, of_a_client_that_is_gone_are_forgotten) {
  PacedRefusals refusals(1);
  refuse(refusals, "a", 0);
  for (uint8_t i = 0; i < 5; ++i) refuse(refusals, "a", 0, i);
  Refusal other = refusal("a", 9);
  other.client.name = "other";
  refusals.hold(std::move(other));
  refusals.client_gone({"a", "nobody"});
  EXPECT_EQ(refusals.waiting(), 6u);
  refusals.client_gone({"a", "client"});
  EXPECT_EQ(refusals.waiting(), 1u);
  EXPECT_FALSE(refusals.has_waiting({"a", "client"}, {1}));
  const auto next = refusals.take_due(kSecondUs);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].client.name, "other");
}

TEST(PacedRefusals, of_clients_that_are_gone_cost_no_time_of_others_and_no_memory) {
  PacedRefusals refusals(1);
  refuse(refusals, "a", 0);
  for (uint8_t i = 0; i < 200; ++i) refuse(refusals, "a", 0, i);
  refusals.client_gone({"a", "client"});
  EXPECT_EQ(refusals.take_due(0).size(), 0u);
  EXPECT_FALSE(refusals.has_waiting("a"));
  EXPECT_TRUE(refuse(refusals, "a", kSecondUs)) << "nobody waits before it";
}

TEST(PacedRefusals, of_a_tenant_keep_their_order_and_tenants_take_turns) {
  PacedRefusals refusals(1);
  EXPECT_TRUE(refuse(refusals, "a", 0));
  for (uint8_t i = 0; i < 4; ++i) refuse(refusals, "a", 0, i);
  refuse(refusals, "b", 0, 7);
  std::string order;
  for (int second = 1; second <= 5; ++second) {
    for (const Refusal& next : refusals.take_due(second * kSecondUs)) {
      order += next.client.tenant + std::to_string(next.id[0]) + " ";
    }
  }
  EXPECT_EQ(order, "a0 b7 a1 a2 a3 ");
}

TEST(PacedRefusals, none_of_a_tenant_is_answered_before_one_that_waits) {
  PacedRefusals refusals(2);
  refuse(refusals, "a", 0);
  refuse(refusals, "a", 0);
  EXPECT_FALSE(refuse(refusals, "a", 0));
  EXPECT_FALSE(refuse(refusals, "a", 10 * kSecondUs));
  EXPECT_TRUE(refuse(refusals, "b", 10 * kSecondUs));
}

// Clients gain nothing if they do not wait for their answers, and their refusals take no more
// memory than kWaitingMax of them.
TEST(PacedRefusals, beyond_a_number_are_answered_at_once) {
  PacedRefusals refusals(1);
  EXPECT_TRUE(refuse(refusals, "a", 0));
  for (size_t i = 0; i < PacedRefusals::kWaitingMax; ++i) {
    ASSERT_FALSE(refusals.may_answer("a", 0));
    Refusal next = refusal("a", static_cast<uint8_t>(i));
    next.id[1] = static_cast<uint8_t>(i >> 8);
    refusals.hold(std::move(next));
  }
  EXPECT_TRUE(refuse(refusals, "a", 0));
  EXPECT_EQ(refusals.waiting(), PacedRefusals::kWaitingMax);
  EXPECT_EQ(refusals.take_all().size(), PacedRefusals::kWaitingMax);
}

TEST(PacedRefusals, a_clock_that_stands_still_or_goes_back_gives_nothing) {
  PacedRefusals refusals(1);
  EXPECT_TRUE(refuse(refusals, "a", kSecondUs));
  EXPECT_FALSE(refuse(refusals, "a", kSecondUs));
  EXPECT_EQ(refusals.take_due(0).size(), 0u);
}

}  // namespace
}  // namespace cascade
