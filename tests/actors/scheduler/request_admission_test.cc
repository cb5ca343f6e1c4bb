// Requests find a place in the queue, or are told when to come again.
#include "actors/scheduler/request_admission.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/clock.h"

namespace cascade {
namespace {

class RequestAdmissionTest : public ::testing::Test {
 protected:
  static wire::GenerateRequest prompt(size_t bytes) {
    wire::GenerateRequest request;
    request.prompt = std::string(bytes, 'x');
    return request;
  }
  // A waiting request of the tenant.
  Request waiting(const std::string& tenant, const Request::Counted& counted) {
    Request request;
    request.client.tenant = tenant;
    admission_.count(request, counted);
    return request;
  }
  std::optional<wire::ErrorReply> told() {
    for (const Outgoing& outgoing : outbox_.take()) {
      const auto* error = std::get_if<wire::ErrorReply>(&outgoing.envelope.message);
      if (error != nullptr) return *error;
    }
    return std::nullopt;
  }
  static Error full() { return resource_exhausted("", "the queue is full"); }

  const Client alice_ = {"alice", "1"};
  FakeClock clock_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  SpeedEstimate speed_{{}};
  RequestAdmission admission_{
      {.requests = 4, .tokens = 1000, .text_bytes = 100'000}, 1, clock_, speed_, outbox_};
};

TEST_F(RequestAdmissionTest, has_places_until_the_queue_is_full) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(admission_.find_place("alice", prompt(1)).ok());
    waiting("alice", {.places = 1, .tokens = 0, .text_bytes = 0});
  }
  const Status refused = admission_.find_place("alice", prompt(1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().message, "the queue is full: 4 requests are waiting");
  EXPECT_TRUE(admission_.find_place("bob", prompt(1)).ok()) << "it has a part of its own";
}

TEST_F(RequestAdmissionTest, gives_back_what_a_request_took) {
  Request request = waiting("alice", {.places = 4, .tokens = 0, .text_bytes = 0});
  EXPECT_FALSE(admission_.find_place("alice", prompt(1)).ok());
  admission_.count(request, {.places = 3, .tokens = 0, .text_bytes = 0});
  EXPECT_TRUE(admission_.find_place("alice", prompt(1)).ok());
  admission_.count(request, {});
  EXPECT_EQ(admission_.tokens_waiting(), 0);
}

TEST_F(RequestAdmissionTest, counts_tokens_and_bytes_of_prompts) {
  waiting("alice", {.places = 1, .tokens = 900, .text_bytes = 99'000});
  EXPECT_EQ(admission_.tokens_waiting(), 900);
  EXPECT_TRUE(admission_.find_place("alice", prompt(30)).ok());
  EXPECT_FALSE(admission_.find_place("alice", prompt(330)).ok()) << "110 tokens";
  EXPECT_NE(admission_.find_place("alice", prompt(2000)).error().message.find("99000 bytes"),
            std::string::npos);
}

TEST_F(RequestAdmissionTest, takes_new_limits) {
  waiting("alice", {.places = 4, .tokens = 0, .text_bytes = 0});
  admission_.set_limits(8, 1000);
  EXPECT_TRUE(admission_.find_place("alice", prompt(1)).ok());
}

TEST_F(RequestAdmissionTest, says_when_to_try_again) {
  admission_.refuse(alice_, {1}, full());
  const auto later = told();
  ASSERT_TRUE(later.has_value());
  EXPECT_GT(later->retry_after_ms, 0);
  EXPECT_FALSE(admission_.asks_singly("alice", 0)) << "it may come again";
  clock_.advance_us(later->retry_after_ms * 1000);
  EXPECT_TRUE(admission_.asks_singly("alice", 1));
  EXPECT_FALSE(admission_.asks_singly("alice", 2));
  admission_.refuse(alice_, {2}, invalid_argument("prompt", "is empty"));
  EXPECT_EQ(told()->retry_after_ms, 0) << "it would be refused again";
}

TEST_F(RequestAdmissionTest, paces_refusals_that_come_too_fast) {
  int answered = 0, number = 0;
  for (; number < 2000 && !admission_.is_being_refused(alice_, {0xff}); ++number) {
    admission_.refuse(alice_, {static_cast<uint8_t>(number == 1999 ? 0xff : 1)}, full());
    answered += told().has_value();
  }
  EXPECT_LT(answered, number);
  EXPECT_TRUE(admission_.is_being_refused(alice_, {0xff}));
  clock_.advance_us(10'000'000);
  admission_.answer_refused();
  EXPECT_TRUE(told().has_value());
  admission_.answer_all_refused();
  EXPECT_FALSE(admission_.is_being_refused(alice_, {0xff}));
}

}  // namespace
}  // namespace cascade
