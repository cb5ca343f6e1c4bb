// Which requests run: tenants' shares and places, preemption, a bounded queue, prompts that are
// computed once for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"
#include "tests/long_tests.h"

namespace cascade {
namespace {

using testing::ask;
using ::testing::HasSubstr;
using testing::long_text;
using testing::prompt_request;
using testing::query_text;
using testing::SchedulerWorld;
using testing::set_speeds;

// The status, without letting any actor work.
wire::StatusReply status_now(SchedulerWorld& world) {
  return world.one<wire::StatusReply>(world.post(wire::StatusRequest{}));
}

// Does one job after the other until the condition holds or `jobs_max` jobs are done. Returns
// whether the condition holds.
template <class Condition>
bool pump_until(SchedulerWorld& world, const Condition& condition, int jobs_max = 60) {
  for (int i = 0; i < jobs_max && !condition(); ++i) world.pump(1);
  return condition();
}

bool ended(const SchedulerWorld& world, uint64_t number) {
  return !world.all<wire::Final>(number).empty();
}

std::vector<int32_t> tokens_alone(const wire::GenerateRequest& request) {
  SchedulerWorld world;
  return world.one<wire::Final>(world.send(request)).token_ids;
}

TEST(Tenants, do_not_find_each_others_pages_or_chunks) {
  SchedulerWorld world;
  const auto request = prompt_request(long_text("Paris", 100), 4);
  EXPECT_EQ(world.one<wire::Final>(world.send(request, "a", "first")).usage.reused_tokens, 0);
  EXPECT_GT(world.one<wire::Final>(world.send(request, "a", "first")).usage.reused_tokens, 100);
  EXPECT_EQ(world.one<wire::Final>(world.send(request, "a", "second")).usage.reused_tokens, 0);
  wire::ChunkPut put;
  put.text = "A context.";
  const auto mine = world.one<wire::ChunkReply>(world.send(put, "a", "first")).chunk;
  const auto theirs = world.one<wire::ChunkReply>(world.send(put, "a", "second")).chunk;
  EXPECT_NE(mine.id, theirs.id);
  EXPECT_EQ(world.error(world.send(wire::ChunkGet{mine.id}, "a", "second")).code,
            ErrorCode::kNotFound);
  EXPECT_EQ(world.error(world.send(wire::ChunkDelete{mine.id}, "a", "second")).code,
            ErrorCode::kNotFound);
  const auto list =
      world.one<wire::ChunkListReply>(world.send(wire::ChunkListRequest{}, "a", "second"));
  ASSERT_EQ(list.chunks.size(), 1u);
  EXPECT_EQ(list.chunks[0].id, theirs.id);
}

TEST(Tenants, clients_of_one_name_are_different_clients) {
  SchedulerWorld world;
  const uint64_t first = world.post(prompt_request("Paris", 50), "same", "first");
  const uint64_t second = world.post(prompt_request("Rome", 50), "same", "second");
  world.core().on_client({"first", "same"}, {{}, wire::ClientGone{}});
  world.pump();
  EXPECT_TRUE(world.all<wire::Final>(first).empty()) << "gone";
  EXPECT_EQ(world.one<wire::Final>(second).finish_reason, "length");
}

// A tenant that holds every place gives up some to a tenant that has none. Nobody's output changes.
TEST(Preemption, makes_places_for_another_tenant_and_changes_no_output) {
  SchedulerOptions options;
  options.requests_running_max = 4;
  SchedulerWorld world(options);
  set_speeds(world);
  std::vector<wire::GenerateRequest> flood;
  std::vector<uint64_t> numbers;
  for (int i = 0; i < 6; ++i) {
    flood.push_back(
        prompt_request(long_text("City" + std::to_string(i), 30), testing::long_or(300, 100)));
    flood.back().sampling.temperature = i % 2 == 0 ? 0 : 0.8;
    flood.back().sampling.seed = static_cast<uint64_t>(i);
    if (i % 3 == 1) {
      flood.back().ignore_eos = false;
      flood.back().grammar = {GrammarKind::kJsonSchema, R"({"type": "string", "minLength": 5000})"};
    }
    numbers.push_back(world.post(flood.back(), "flood", "first"));
  }
  ASSERT_TRUE(pump_until(world, [&] { return status_now(world).requests_running == 4; }));
  const auto light = prompt_request(long_text("Lake", 30), 10);
  const uint64_t number = world.post(light, "light", "second");
  EXPECT_TRUE(pump_until(world, [&] { return ended(world, number); }));
  for (const uint64_t other : numbers) EXPECT_FALSE(ended(world, other));
  world.pump();
  EXPECT_GE(world.status().requests_preempted, 1);
  EXPECT_EQ(world.one<wire::Final>(number).token_ids, tokens_alone(light));
  for (size_t i = 0; i < flood.size(); ++i) {
    const auto final = world.one<wire::Final>(numbers[i]);
    EXPECT_EQ(final.token_ids, tokens_alone(flood[i])) << i;
    EXPECT_EQ(final.usage.reused_tokens + final.usage.prefilled_tokens, final.usage.prompt_tokens);
  }
}

TEST(Preemption, one_that_is_cancelled_while_it_waits_keeps_its_output) {
  SchedulerOptions options;
  options.requests_running_max = 2;
  SchedulerWorld world(options);
  set_speeds(world);
  std::vector<uint64_t> numbers;
  for (int i = 0; i < 2; ++i) {
    auto request = prompt_request(long_text("City" + std::to_string(i), 20), 300);
    request.retain_output = true;
    numbers.push_back(world.post(request, "flood", "first"));
  }
  ASSERT_TRUE(pump_until(world, [&] { return status_now(world).requests_running == 2; }));
  world.pump(8);  // some tokens of each
  world.post(prompt_request("Lake", 200), "light", "second");
  ASSERT_TRUE(pump_until(world, [&] { return status_now(world).requests_preempted == 1; }));
  for (const uint64_t number : numbers) {
    world.post(wire::CancelRequest{testing::request_id(number)}, "flood", "first");
  }
  world.pump();
  for (const uint64_t number : numbers) {
    const auto final = world.one<wire::Final>(number);
    EXPECT_EQ(final.finish_reason, "cancelled");
    EXPECT_FALSE(final.token_ids.empty());
    EXPECT_FALSE(final.output_chunk_id.empty());
  }
}

// Both running requests have the same prompt, so its pages would stay in use if one of them ended.
TEST(Preemption, is_of_no_use_if_the_pages_of_the_one_that_runs_are_shared) {
  SchedulerOptions options;
  options.requests_running_max = 2;
  SchedulerWorld world(options, 20);
  set_speeds(world);
  const wire::GenerateRequest request = prompt_request(long_text("Paris", 165), 120);
  const uint64_t first = world.post(request, "a", "many");
  ASSERT_TRUE(pump_until(world, [&] { return status_now(world).tokens_generated > 0; }));
  const uint64_t second = world.post(request, "b", "many");
  ASSERT_TRUE(pump_until(world, [&] { return status_now(world).requests_running == 2; }));
  const uint64_t third = world.post(prompt_request("Rome", 700), "c", "one");
  world.pump(10);
  EXPECT_EQ(status_now(world).requests_preempted, 0);
  world.pump();
  for (const uint64_t number : {first, second, third}) EXPECT_TRUE(ended(world, number));
}

TEST(Preemption, a_tenant_alone_is_left_in_peace) {
  SchedulerOptions options;
  options.requests_running_max = 2;
  SchedulerWorld world(options);
  set_speeds(world);
  for (int i = 0; i < 6; ++i) world.post(prompt_request("City" + std::to_string(i), 60));
  world.pump();
  EXPECT_EQ(world.status().requests_preempted, 0);
  EXPECT_EQ(world.status().requests_done, 6);
}

TEST(Queue, refuses_tokens_beyond_its_limit_and_says_when_to_try_again) {
  SchedulerOptions options;
  options.tokens_waiting_max = 400;
  SchedulerWorld world(options);
  set_speeds(world);
  // The first request may have more tokens than the limit, since it would never run otherwise.
  const uint64_t first = world.post(prompt_request(long_text("One", 300), 4));
  EXPECT_FALSE(world.all<wire::Accepted>(first).empty());
  const uint64_t second = world.post(prompt_request(long_text("Two", 300), 4));
  const auto refused = world.all<wire::ErrorReply>(second);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].error.code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused[0].error.message, HasSubstr("the limit is 400"));
  EXPECT_GT(refused[0].retry_after_ms, 0);
  world.pump();
  EXPECT_EQ(world.status().tokens_waiting, 0);
  EXPECT_EQ(
      world.one<wire::Final>(world.send(prompt_request(long_text("Two", 300), 4))).finish_reason,
      "length");
}

TEST(Queue, counts_nothing_that_has_left_it) {
  SchedulerOptions options;
  options.requests_running_max = 1;
  SchedulerWorld world(options);
  set_speeds(world);
  const uint64_t running = world.post(prompt_request("One", 100));
  const uint64_t waiting = world.post(prompt_request(long_text("Two", 100), 100));
  world.pump(8);
  EXPECT_GT(status_now(world).tokens_waiting, 100);
  world.post(wire::CancelRequest{testing::request_id(waiting)});
  EXPECT_EQ(status_now(world).tokens_waiting, 0);
  world.send(wire::CancelRequest{testing::request_id(running)});
  EXPECT_EQ(world.status().requests_running, 0);
}

TEST(Prefill, two_with_the_same_new_beginning_compute_it_once) {
  SchedulerWorld world;
  const std::string shared = long_text("Shared", 200);
  const auto a = prompt_request(shared + " first", 4), b = prompt_request(shared + " second", 4);
  const uint64_t first = world.post(a), second = world.post(b);
  world.pump();
  const auto usage = world.one<wire::Final>(first).usage;
  const auto other = world.one<wire::Final>(second).usage;
  EXPECT_EQ(usage.reused_tokens, 0);
  EXPECT_GE(other.reused_tokens, usage.prompt_tokens - 64) << "of " << other.prompt_tokens;
  EXPECT_LE(other.prefilled_tokens, 64);
  EXPECT_EQ(world.one<wire::Final>(first).token_ids, tokens_alone(a));
  EXPECT_EQ(world.one<wire::Final>(second).token_ids, tokens_alone(b));
}

TEST(Prefill, a_short_prompt_does_not_wait_behind_a_long_one) {
  SchedulerWorld world;
  set_speeds(world);
  world.send(prompt_request(long_text("Warm", 100), 2));  // speeds are known
  const uint64_t large = world.post(prompt_request(long_text("Long", 800), 2));
  world.pump(2);
  const uint64_t small = world.post(prompt_request("Short", 1));
  EXPECT_TRUE(pump_until(
      world, [&] { return ended(world, small); }, 12));
  EXPECT_FALSE(ended(world, large));
  world.pump();
  EXPECT_FALSE(world.all<wire::Final>(large).empty());
}

TEST(Progress, tells_rate_time_left_and_place) {
  SchedulerOptions options;
  options.requests_running_max = 1;
  SchedulerWorld world(options);
  set_speeds(world);
  const uint64_t running = world.post(prompt_request(long_text("Long", 600), 2, true));
  const uint64_t waiting = world.post(prompt_request("Next", 2, true));
  world.pump(5);
  world.clock.advance_us(1'000'000);
  world.core().on_tick();
  world.pump();
  bool rate = false;
  for (const auto& progress : world.all<wire::Progress>(running)) {
    EXPECT_LE(progress.prompt_tokens_done, progress.prompt_tokens);
    if (progress.tokens_per_s > 0 && progress.prompt_tokens_done < progress.prompt_tokens) {
      rate = true;
      EXPECT_GT(progress.eta_us, 0);
    }
  }
  EXPECT_TRUE(rate);
  // A waiting request also gets progress, and has more work before it.
  const auto waits = world.all<wire::Progress>(waiting);
  ASSERT_FALSE(waits.empty());
  EXPECT_GT(waits[0].eta_us, 0);
}

}  // namespace
}  // namespace cascade
