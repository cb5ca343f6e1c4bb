// Deltas come as the client allows them; nothing of the text is lost.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"
#include "wire/request_rules.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::request_id;
using testing::SchedulerWorld;

wire::GenerateRequest streamed(std::optional<int32_t> credit) {
  wire::GenerateRequest request = ask({query_text("What is the capital of France?")});
  request.stream = true;
  request.ignore_eos = true;
  request.max_tokens = 400;
  request.delta_credit = credit;
  return request;
}

std::string joined(const SchedulerWorld& world, uint64_t number, bool reasoning) {
  std::string text;
  for (const auto& delta : world.all<wire::Delta>(number)) {
    if (delta.reasoning == reasoning) text += delta.text;
  }
  return text;
}

void expect_whole(const SchedulerWorld& world, uint64_t number) {
  const auto final = world.one<wire::Final>(number);
  EXPECT_EQ(joined(world, number, false), final.text);
  EXPECT_EQ(joined(world, number, true), final.reasoning);
}

TEST(Credit, without_a_limit_deltas_come_as_they_are_made) {
  SchedulerWorld world;
  const uint64_t number = world.send(streamed({}));
  EXPECT_GT(world.all<wire::Delta>(number).size(), 4u);
  expect_whole(world, number);
}

TEST(Credit, of_zero_leaves_all_to_the_end) {
  SchedulerWorld world;
  const uint64_t number = world.send(streamed(0));
  EXPECT_FALSE(world.one<wire::Final>(number).text.empty());
  EXPECT_TRUE(world.all<wire::Delta>(number).empty());
}

TEST(Credit, that_comes_late_gets_what_was_held_joined) {
  SchedulerWorld world;
  const uint64_t number = world.post(streamed(0));
  for (int i = 0; i < 5; ++i) world.pump(1);
  ASSERT_TRUE(world.all<wire::Final>(number).empty()) << "too few tokens for this test";
  world.one<wire::Ack>(world.post(wire::DeltaCredit{request_id(number), 1}));
  EXPECT_EQ(world.all<wire::Delta>(number).size(), 1u);
  world.pump();
  EXPECT_LE(world.all<wire::Delta>(number).size(), 4u) << "joined";
  expect_whole(world, number);
}

TEST(Credit, is_used_up_and_granted_again) {
  SchedulerWorld world;
  const uint64_t number = world.post(streamed(2));
  while (world.all<wire::Delta>(number).size() < 2) ASSERT_GT(world.pump(1), 0u);
  for (int i = 0; i < 3; ++i) world.pump(1);
  ASSERT_TRUE(world.all<wire::Final>(number).empty()) << "too few tokens for this test";
  EXPECT_EQ(world.all<wire::Delta>(number).size(), 2u);
  const uint64_t grant = world.post(wire::DeltaCredit{request_id(number), 1});
  world.one<wire::Ack>(grant);
  EXPECT_EQ(world.all<wire::Delta>(number).size(), 3u) << "what was held comes at once";
  world.pump();
  expect_whole(world, number);
}

TEST(Credit, held_text_comes_before_an_error) {
  SchedulerWorld world;
  auto request = streamed(0);
  request.timeout_ms = 60'000;
  const uint64_t number = world.post(request);
  for (int i = 0; i < 5; ++i) world.pump(1);
  world.clock.advance_us(61'000'000);
  world.core().on_tick();
  world.pump();
  EXPECT_EQ(world.error(number).code, ErrorCode::kDeadlineExceeded);
  EXPECT_FALSE(world.all<wire::Delta>(number).empty());
}

TEST(Credit, for_what_is_not_running_is_refused) {
  SchedulerWorld world;
  const Error error = world.error(world.send(wire::DeltaCredit{request_id(999), 1}));
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.field, "target");
  const uint64_t number = world.send(streamed(1));
  EXPECT_EQ(world.error(world.send(wire::DeltaCredit{request_id(number), 1})).code,
            ErrorCode::kNotFound);
}

TEST(Credit, beyond_the_limit_stays_at_the_limit) {
  SchedulerWorld world;
  const uint64_t number = world.post(streamed(wire::kDeltaCreditMax));
  world.one<wire::Ack>(world.post(wire::DeltaCredit{request_id(number), wire::kDeltaCreditMax}));
  world.pump();
  expect_whole(world, number);
}

}  // namespace
}  // namespace cascade
