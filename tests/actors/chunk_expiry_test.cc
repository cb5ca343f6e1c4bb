// Time to live, deletion, and what becomes of the pages.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::cache_stats;
using testing::output_ref;
using testing::query_text;
using testing::retained;
using testing::SchedulerWorld;

TEST(Expiry, takes_chunk_and_pages_when_the_time_is_over_and_not_before) {
  SchedulerWorld world;
  auto request = retained("What is the capital of Peru?");
  request.output_ttl_ms = 60'000;
  const auto final = world.one<wire::Final>(world.send(request));
  const std::string id = final.output_chunk_id;
  const Chunk chunk = world.chunk(id);
  world.clock.set_wall_us(chunk.expires_us - 1);
  world.core().on_tick();
  EXPECT_EQ(world.chunk(id).kv_state, KvState::kReady);
  world.clock.set_wall_us(chunk.expires_us);
  const Error error = world.error(world.send(wire::ChunkGet{id}));
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_NE(error.message.find("has expired"), std::string::npos);
  EXPECT_EQ(cache_stats(world).pages_held, 0);
  EXPECT_GT(cache_stats(world).removed_expired, 0);
  EXPECT_EQ(world.status().chunks_output, 0);
  const Error composed = world.error(world.send(ask({output_ref(id), query_text("Why?")})));
  EXPECT_EQ(composed.field, "chunks[0].id");
  EXPECT_NE(composed.message.find("has expired"), std::string::npos);
}

// A text takes a while to be tokenized.
TEST(Expiry, may_come_before_the_chunk_is_registered) {
  SchedulerWorld world;
  wire::ChunkPut put{ChunkType::kContext, "text"};
  put.ttl_ms = 1;
  const uint64_t number = world.post(put);
  world.clock.advance_us(2'000);
  world.core().on_tick();
  world.pump();
  const std::string id = world.one<wire::ChunkReply>(number).chunk.id;
  EXPECT_EQ(world.error(world.send(wire::ChunkGet{id})).code, ErrorCode::kNotFound);
}

TEST(Expiry, a_clock_that_goes_back_deletes_nothing_early) {
  SchedulerWorld world;
  wire::ChunkPut put{ChunkType::kContext, "text"};
  put.ttl_ms = 60'000;
  const Chunk chunk = world.one<wire::ChunkReply>(world.send(put)).chunk;
  world.clock.set_wall_us(chunk.created_us - 3'600'000'000);
  world.core().on_tick();
  world.clock.advance_us(59'000'000);
  world.core().on_tick();
  EXPECT_EQ(world.chunk(chunk.id).id, chunk.id);
}

TEST(Expiry, of_many_at_once_is_spread_over_ticks_but_none_is_found) {
  SchedulerWorld world;
  wire::ChunkPut put{ChunkType::kContext, ""};
  put.ttl_ms = 3'600'000;
  std::vector<std::string> ids;
  for (int i = 0; i < 600; ++i) {
    put.text = std::to_string(i);
    ids.push_back(world.one<wire::ChunkReply>(world.send(put)).chunk.id);
  }
  world.clock.advance_us(7'200'000'000);
  EXPECT_EQ(world.error(world.post(wire::ChunkGet{ids.back()})).code, ErrorCode::kNotFound);
  const uint64_t list = world.post(wire::ChunkListRequest{});
  EXPECT_TRUE(world.one<wire::ChunkListReply>(list).chunks.empty());
  world.core().on_tick();
  EXPECT_EQ(world.status().chunks_input, 0);
}

TEST(Expiry, leaves_a_running_request_its_pages_until_it_ends) {
  for (const bool expires : {true, false}) {
    SchedulerWorld world;
    std::string text = "What is the capital of Peru?";
    for (int i = 0; i < 30; ++i) text += " Ana likes plums.";
    auto request = retained(text);
    request.max_tokens = 20;
    const auto first = world.one<wire::Final>(world.send(request));
    const Chunk chunk = world.chunk(first.output_chunk_id);
    wire::GenerateRequest next = ask({output_ref(chunk.id), query_text("And of Chile?")});
    next.max_tokens = 40;
    next.ignore_eos = true;
    const auto expected = world.one<wire::Final>(world.send(next));
    const uint64_t running = world.post(next);
    while (world.jobs_for(testing::Actor::kDecode) == 0) ASSERT_EQ(world.pump(1), 1u);
    if (expires) {
      wire::ChunkUpdate update;
      update.id = chunk.id;
      update.ttl_ms = 1;
      world.post(update);
      world.clock.advance_us(2000);
      world.core().on_tick();
    } else {
      world.one<wire::ChunkReply>(world.post(wire::ChunkDelete{chunk.id}));
    }
    EXPECT_EQ(world.error(world.post(wire::ChunkGet{chunk.id})).code, ErrorCode::kNotFound);
    world.pump();
    const auto final = world.one<wire::Final>(running);
    EXPECT_EQ(final.token_ids, expected.token_ids);
    EXPECT_EQ(final.logprobs, expected.logprobs);
    const wire::CacheStats cache = cache_stats(world);
    EXPECT_GT(expires ? cache.removed_expired : cache.removed_deleted, 0);
    // Only the part before the answer is left: whole pages of the prompt.
    EXPECT_LE(cache.pages_used, (first.usage.prompt_tokens + kPageTokens - 1) / kPageTokens);
  }
}

TEST(Deletion, ends_a_prefill_that_was_to_come) {
  SchedulerWorld world;
  const uint64_t number = world.post(retained("What is the capital of Chile?"));
  while (world.all<wire::Final>(number).empty()) ASSERT_EQ(world.pump(1), 1u);
  const std::string id = world.one<wire::Final>(number).output_chunk_id;
  for (int steps = 0; world.post(wire::ChunkGet{id}), steps < 2; ++steps) world.pump(1);
  world.one<wire::ChunkReply>(world.post(wire::ChunkDelete{id}));
  world.pump();
  EXPECT_EQ(world.status().reprefills_pending, 0);
  EXPECT_EQ(cache_stats(world).pages_held, 0);
  EXPECT_EQ(world.status().chunks_output, 0);
}

TEST(Deletion, at_any_moment_of_retention_leaves_nothing_behind) {
  for (size_t steps = 0; steps < 12; ++steps) {
    SchedulerWorld world;
    const uint64_t number = world.post(retained("What is the capital of Chile?"));
    while (world.all<wire::Final>(number).empty()) ASSERT_EQ(world.pump(1), 1u);
    const std::string id = world.one<wire::Final>(number).output_chunk_id;
    world.pump(steps);
    const uint64_t deleted = world.post(wire::ChunkDelete{id});
    world.pump();
    world.one<wire::ChunkReply>(deleted);
    const wire::CacheStats cache = cache_stats(world);
    EXPECT_EQ(cache.pages_held, 0) << steps;
    EXPECT_EQ(cache.pages_pin_promised, 0) << steps;
    EXPECT_EQ(world.status().reprefills_pending, 0) << steps;
  }
}

TEST(Uses, are_stored_without_the_whole_chunk) {
  SchedulerWorld world;
  const auto put = world.send(wire::ChunkPut{ChunkType::kContext, "Ana likes plums."});
  const Chunk chunk = world.one<wire::ChunkReply>(put).chunk;
  size_t puts = 0;
  size_t jobs = 0;
  world.core().on_client({kLocalTenant, "client"},
                         {testing::request_id(77), ask({{ChunkType::kContext, chunk.id, ""},
                                                        query_text("What does Ana like?")})});
  for (const auto& outgoing : world.core().take_outgoing()) {
    puts += std::holds_alternative<wire::StorePut>(outgoing.envelope.message);
    const auto* touch = std::get_if<wire::StoreTouch>(&outgoing.envelope.message);
    if (touch == nullptr) continue;
    ++jobs;
    EXPECT_EQ(touch->id, chunk.id);
    EXPECT_EQ(touch->hits, 1);
    MemoryStore store;
    ASSERT_TRUE(store.put(chunk).ok());
    StoreActor(store, world.clock).handle({*touch}, [](const wire::Message&) {});
    EXPECT_EQ(store.load()->at(0).hits, 1);
    EXPECT_EQ(store.load()->at(0).text, chunk.text);
  }
  EXPECT_EQ(puts, 0u);
  EXPECT_EQ(jobs, 1u);
}

}  // namespace
}  // namespace cascade
