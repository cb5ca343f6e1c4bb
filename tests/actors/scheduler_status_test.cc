// What the status says, and to whom.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::retained;
using testing::SchedulerWorld;

wire::StatusReply status_of(SchedulerWorld& world, const std::string& tenant) {
  return world.one<wire::StatusReply>(world.send_as(tenant, wire::StatusRequest{}));
}

TEST(Status, of_a_tenant_does_not_count_what_others_do) {
  SchedulerWorld world;
  const wire::StatusReply before = status_of(world, "bob");
  world.one<wire::Final>(world.send_as("alice", retained("What is the capital of France?")));
  wire::ChunkPut put;
  put.type = ChunkType::kContext;
  put.text = "A text of Alice's.";
  world.one<wire::ChunkReply>(world.send_as("alice", put));
  wire::StatusReply after = status_of(world, "bob");
  after.uptime_us = before.uptime_us;
  // The speed of the machine is not a secret.
  after.prefill_tokens_per_s = before.prefill_tokens_per_s;
  after.decode_tokens_per_s = before.decode_tokens_per_s;
  EXPECT_EQ(*wire::encode({{}, after}), *wire::encode({{}, before}));
}

TEST(Status, has_the_fingerprint_that_answers_have) {
  SchedulerWorld world;
  const uint64_t number = world.send_as("alice", retained("What is the capital of France?"));
  const std::string fingerprint = world.one<wire::Accepted>(number).fingerprint;
  EXPECT_EQ(fingerprint, status_of(world, "bob").fingerprint);
  EXPECT_TRUE(fingerprint.starts_with("fp_"));
  SchedulerOptions options;
  options.version = "another";
  SchedulerWorld other(options);
  EXPECT_NE(fingerprint, status_of(other, "bob").fingerprint);
}

TEST(Status, of_a_tenant_counts_its_own_and_the_administrators_all) {
  SchedulerWorld world;
  world.one<wire::Final>(world.send_as("alice", retained("What is the capital of France?")));
  world.one<wire::Final>(world.send_as("bob", retained("What is the capital of Italy?")));
  const wire::StatusReply alice = status_of(world, "alice");
  const wire::StatusReply all = status_of(world, kLocalTenant);
  EXPECT_EQ(alice.chunks_output, 1);
  EXPECT_GT(alice.kv_pages_used, 0);
  EXPECT_EQ(alice.kv_bytes_used % alice.kv_pages_used, 0);
  EXPECT_EQ(all.chunks_output, 2);
  EXPECT_GT(all.kv_pages_used, alice.kv_pages_used);
  EXPECT_EQ(all.requests_done, 2);
  EXPECT_EQ(alice.requests_done, 0);
}

TEST(Status, statistics_say_what_reuse_saved) {
  SchedulerWorld world;
  const auto cache = [&] {
    return *world.one<wire::StatsReply>(world.send(wire::StatsRequest{})).cache;
  };
  std::string text = "What is the capital of";
  for (int i = 0; i < 60; ++i) text += " this and that country,";
  const auto first = world.one<wire::Final>(world.send(ask({query_text(text)})));
  EXPECT_EQ(first.usage.reused_tokens, 0);
  EXPECT_EQ(cache().saved_tokens, 0);
  EXPECT_EQ(cache().saved_us, 0);
  EXPECT_EQ(cache().saved_bytes, 0);
  const auto second = world.one<wire::Final>(world.send(ask({query_text(text)})));
  EXPECT_EQ(cache().saved_tokens, second.usage.reused_tokens);
  EXPECT_EQ(cache().saved_bytes, second.usage.reused_tokens / kPageTokens *
                                     static_cast<int64_t>(SchedulerWorld::page_bytes()));
}

}  // namespace
}  // namespace cascade
