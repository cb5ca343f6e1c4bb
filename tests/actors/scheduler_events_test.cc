// What clients are told, in which order, and who is told.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::output_ref;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

wire::GenerateRequest retained_chunks(std::vector<wire::ChunkRef> chunks) {
  wire::GenerateRequest request = ask(chunks);
  request.retain_output = true;
  request.max_tokens = 8;
  return request;
}

std::vector<wire::EventNotice> events(SchedulerWorld& world, int64_t after = 0) {
  return world.one<wire::EventsReply>(world.send(wire::EventsRequest{after, "", 1000})).events;
}

// The events as "chunk_stored OUTPUT, …". If `id` is not empty, only the events of this chunk,
// without types.
std::string kinds(const std::vector<wire::EventNotice>& events, const std::string& id = "") {
  std::string text;
  for (const wire::EventNotice& event : events) {
    if (!id.empty() && event.id != id) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(event.kind));
    if (event.type && id.empty()) text += " " + std::string(to_string(*event.type));
  }
  return text;
}

TEST(Events, follow_a_request_and_its_output) {
  SchedulerWorld world;
  const uint64_t first =
      world.send(retained_chunks({system_text("Be brief."), query_text("Hello")}));
  const std::string output = world.one<wire::Final>(first).output_chunk_id;
  EXPECT_EQ(kinds(events(world), output), "chunk_stored, chunk_restored");
  const auto all = events(world);
  EXPECT_EQ(kinds(all),
            "chunk_stored SYSTEM_PROMPT, request_started, chunk_stored OUTPUT, "
            "request_finished, chunk_restored OUTPUT");
  const wire::EventNotice& finished = all[3];
  EXPECT_EQ(finished.id.size(), 32u);
  EXPECT_EQ(finished.id, all[1].id);
  EXPECT_EQ(finished.tokens, world.one<wire::Final>(first).usage.completion_tokens);
  EXPECT_EQ(finished.reason, world.one<wire::Final>(first).finish_reason);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].sequence, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(all[i].boot_id, world.one<wire::Pong>(world.send(wire::Ping{})).boot_id);
    EXPECT_GT(all[i].time_us, 0);
  }
  world.send(ask({output_ref(output), query_text("And?")}));
  EXPECT_EQ(kinds(events(world, all.back().sequence), output), "chunk_used");
}

TEST(Events, tell_how_chunks_end) {
  SchedulerWorld world;
  wire::ChunkPut put{ChunkType::kContext, "one"};
  const Chunk one = world.one<wire::ChunkReply>(world.send(put)).chunk;
  put.text = "two";
  put.ttl_ms = 60'000;
  const Chunk two = world.one<wire::ChunkReply>(world.send(put)).chunk;
  world.send(put);  // the chunk exists
  world.send(wire::ChunkDelete{one.id});
  world.clock.advance_us(61'000'000);
  world.core().on_tick();
  world.pump();
  EXPECT_EQ(kinds(events(world), one.id), "chunk_stored, chunk_deleted");
  EXPECT_EQ(kinds(events(world), two.id), "chunk_stored, chunk_expired");
}

TEST(Events, tell_of_an_eviction_though_nobody_asks) {
  SchedulerWorld world({}, 12);
  const auto first = world.one<wire::Final>(world.send(retained_chunks({query_text("Hello")})));
  std::string long_text;
  for (int i = 0; i < 90; ++i) long_text += " word" + std::to_string(i);
  int64_t evicted = 0;
  world.on_event = [&](const std::string&, const wire::EventNotice& event) {
    evicted += event.kind == EventKind::kChunkEvicted && event.id == first.output_chunk_id;
  };
  for (int i = 0; i < 6 && evicted == 0; ++i) {
    world.send(retained_chunks({query_text(std::to_string(i) + long_text)}));
    world.core().on_tick();
    world.pump();
  }
  EXPECT_EQ(evicted, 1);
}

TEST(Events, tell_of_a_request_that_failed) {
  SchedulerWorld world;
  auto request = ask({query_text("Hello")});
  request.timeout_ms = 1;
  request.ignore_eos = true;
  const uint64_t number = world.post(request);
  world.clock.advance_us(10'000);
  world.core().on_tick();
  world.pump();
  EXPECT_EQ(world.error(number).code, ErrorCode::kDeadlineExceeded);
  ASSERT_FALSE(events(world).empty());
  EXPECT_EQ(events(world).back().kind, EventKind::kRequestFinished);
  EXPECT_EQ(events(world).back().reason, "deadline_exceeded");
}

TEST(Events, are_of_ones_own_tenant_alone) {
  SchedulerWorld world;
  std::map<std::string, int> published;
  world.on_event = [&](const std::string& tenant, const wire::EventNotice&) {
    ++published[tenant];
  };
  world.send_as("other", wire::ChunkPut{ChunkType::kContext, "secret"});
  EXPECT_TRUE(events(world).empty());
  EXPECT_TRUE(published.empty()) << "the other tenant has no gateway";
  world.core().on_actor_started(testing::Actor::kGateway, "other");
  world.send_as("other", wire::ChunkPut{ChunkType::kContext, "secret, too"});
  EXPECT_EQ(published, (std::map<std::string, int>{{"other", 1}}));
  const uint64_t asked = world.send_as("other", wire::EventsRequest{});
  EXPECT_EQ(kinds(world.one<wire::EventsReply>(asked).events),
            "chunk_stored CONTEXT, chunk_stored CONTEXT");
}

TEST(Events, beyond_what_is_kept_are_a_gap) {
  SchedulerOptions options;
  options.events_max = 3;
  SchedulerWorld world(options);
  for (const char* text : {"a", "b", "c", "d"}) {
    world.send(wire::ChunkPut{ChunkType::kContext, text});
  }
  const auto reply = world.one<wire::EventsReply>(world.send(wire::EventsRequest{}));
  EXPECT_TRUE(reply.gap);
  ASSERT_EQ(reply.events.size(), 3u);
  EXPECT_EQ(reply.events.front().sequence, 2);
  EXPECT_EQ(reply.last, 4);
}

}  // namespace
}  // namespace cascade
