// Changes that outlive the process: nobody is told of a change before it is durable, and none is
// forgotten.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::SchedulerWorld;

wire::ChunkPut context(const std::string& text) {
  return wire::ChunkPut{ChunkType::kContext, text};
}

class Stored : public ::testing::Test {
 protected:
  // The store cannot write until told otherwise.
  void fill_disk() {
    world_.tamper = [](wire::Message& message) {
      if (auto* ack = std::get_if<wire::StoreAck>(&message)) {
        ack->error = resource_exhausted("disk", "no space is left");
      }
    };
  }
  void wait_for_retry() {
    world_.clock.advance_us(3'000'000);
    world_.core().on_tick();
    world_.pump();
  }
  size_t warnings() { return world_.status().warnings.size(); }

  SchedulerWorld world_;
};

TEST_F(Stored, changes_are_answered_when_they_are_durable) {
  world_.store_at_once = false;
  const uint64_t put = world_.post(context("A text."));
  while (world_.jobs_for(testing::Actor::kStore) == 0) ASSERT_EQ(world_.pump(1), 1u);
  EXPECT_TRUE(world_.all<wire::ChunkReply>(put).empty());
  world_.pump();
  const auto reply = world_.one<wire::ChunkReply>(put);
  EXPECT_TRUE(reply.durable);
  for (const wire::Message& change : {wire::Message(wire::ChunkUpdate{.id = reply.chunk.id,
                                     .name = "n",
                                     .pinned = {},
                                     .ttl_ms = {},
                                     .priority = {},
                                     .priority_ms = {},
                                     .published = {}}),
                                      wire::Message(wire::ChunkDelete{reply.chunk.id})}) {
    const uint64_t number = world_.post(change);
    EXPECT_TRUE(world_.all<wire::ChunkReply>(number).empty());
    world_.pump();
    EXPECT_TRUE(world_.one<wire::ChunkReply>(number).durable);
  }
}

TEST_F(Stored, so_is_a_generation_whose_output_is_retained) {
  world_.store_at_once = false;
  auto request = ask({query_text("What is the capital of Peru?")});
  request.retain_output = true;
  const uint64_t number = world_.post(request);
  bool stored_before = false;
  while (world_.all<wire::Final>(number).empty()) {
    stored_before |= world_.jobs_for(testing::Actor::kStore) > 0;
    ASSERT_EQ(world_.pump(1), 1u);
  }
  EXPECT_TRUE(stored_before);
  EXPECT_TRUE(world_.one<wire::Final>(number).durable);
}

TEST_F(Stored, without_space_work_goes_on_and_is_saved_later) {
  fill_disk();
  auto request = ask({query_text("What is the capital of Peru?")});
  request.retain_output = true;
  const auto final = world_.one<wire::Final>(world_.send(request));
  EXPECT_FALSE(final.output_chunk_id.empty());
  EXPECT_FALSE(final.durable);
  const auto put = world_.one<wire::ChunkReply>(world_.send(context("A text.")));
  EXPECT_FALSE(put.durable);
  EXPECT_EQ(warnings(), 1u);
  wait_for_retry();
  EXPECT_EQ(warnings(), 1u);
  // There is space again.
  world_.tamper = {};
  wait_for_retry();
  EXPECT_EQ(warnings(), 0u);
  EXPECT_TRUE(world_.one<wire::ChunkReply>(world_.send(wire::ChunkDelete{put.chunk.id})).durable);
}

TEST_F(Stored, what_was_deleted_while_the_store_could_not_write_is_deleted_later) {
  const auto put = world_.one<wire::ChunkReply>(world_.send(context("A text.")));
  fill_disk();
  const Error failed = world_.error(world_.send(wire::ChunkDelete{put.chunk.id}));
  EXPECT_EQ(failed.code, ErrorCode::kResourceExhausted);
  EXPECT_NE(failed.message.find("parts of it are still on disk"), std::string::npos);
  EXPECT_EQ(world_.error(world_.send(wire::ChunkGet{put.chunk.id})).code, ErrorCode::kNotFound);
  world_.tamper = {};
  world_.store_at_once = false;
  world_.clock.advance_us(3'000'000);
  world_.core().on_tick();
  world_.pump(0);
  EXPECT_EQ(world_.jobs_for(testing::Actor::kStore), 1u);
  world_.pump();
  EXPECT_EQ(warnings(), 0u);
}

TEST_F(Stored, what_a_store_that_was_restarted_did_not_answer_is_sent_again) {
  world_.store_at_once = false;
  const uint64_t put = world_.post(context("A text."));
  while (world_.jobs_for(testing::Actor::kStore) == 0) ASSERT_EQ(world_.pump(1), 1u);
  world_.restart(testing::Actor::kStore);
  EXPECT_TRUE(world_.all<wire::ChunkReply>(put).empty());
  world_.pump();
  EXPECT_TRUE(world_.one<wire::ChunkReply>(put).durable);
}

TEST_F(Stored, a_text_that_a_request_brings_along_is_there_with_its_token_ids_or_not_at_all) {
  const auto stored = [&] {
    world_.start_scheduler();
    return world_.one<wire::ChunkListReply>(world_.send(wire::ChunkListRequest{}));
  };
  const auto request = ask({{ChunkType::kContext, "", "Ana likes plums."}, query_text("Who?")});
  world_.post(request);
  EXPECT_TRUE(stored().chunks.empty()) << "of a daemon that was killed at once";
  world_.send(request);
  const auto list = stored();
  ASSERT_EQ(list.chunks.size(), 1u);
  EXPECT_GT(list.token_counts[0], 0);
}

TEST_F(Stored, a_daemon_that_stops_waits_for_its_store) {
  world_.store_at_once = false;
  world_.post(context("A text."));
  while (world_.jobs_for(testing::Actor::kStore) == 0) ASSERT_EQ(world_.pump(1), 1u);
  world_.core().stop();
  EXPECT_FALSE(world_.core().stopped());
  world_.pump();
  EXPECT_TRUE(world_.core().stopped());
}

TEST(Loading, clients_wait_until_the_chunks_are_there) {
  FakeClock clock;
  auto arena = PageArena::create(testing::demo_model().kv_layout.page_bytes(), 4);
  SchedulerCore core({}, testing::demo_model(), *arena, clock);
  core.on_actor_started(testing::Actor::kGateway, kLocalTenant);
  const auto answers = [&] {
    size_t count = 0;
    for (const auto& sent : core.take_outgoing()) {
      count += sent.to == testing::Actor::kGateway ? 1 : 0;
    }
    return count;
  };
  core.on_client({kLocalTenant, "a"}, {testing::request_id(1), wire::ChunkGet{"chunk_01234567"}});
  core.on_client({kLocalTenant, "b"}, {testing::request_id(2), wire::StatusRequest{}});
  EXPECT_EQ(answers(), 0u);
  core.on_client({kLocalTenant, "a"}, {testing::request_id(3), wire::Ping{}});
  EXPECT_EQ(answers(), 1u);
  core.on_client({kLocalTenant, "b"}, {testing::request_id(4), wire::ClientGone{}});
  core.on_answer(wire::StoreChunks{1, {}, /*more=*/true});
  EXPECT_EQ(answers(), 0u);
  core.on_answer(wire::StoreChunks{1, {}, /*more=*/false});
  EXPECT_EQ(answers(), 0u);
  core.on_answer(wire::StoredPages{1, {}, {}, {}, /*more=*/true});
  EXPECT_EQ(answers(), 0u);
  core.on_answer(wire::StoredPages{1, {}, {}, {}, /*more=*/false});
  EXPECT_EQ(answers(), 1u);  // to the client that is still connected
}

TEST(Loading, not_too_many_of_them) {
  FakeClock clock;
  auto arena = PageArena::create(testing::demo_model().kv_layout.page_bytes(), 4);
  SchedulerCore core({}, testing::demo_model(), *arena, clock);
  core.on_actor_started(testing::Actor::kGateway, kLocalTenant);
  for (uint64_t i = 0; i < 1001; ++i) {
    core.on_client({kLocalTenant, "a"}, {testing::request_id(i), wire::StatusRequest{}});
  }
  const auto sent = core.take_outgoing();
  const auto* error = std::get_if<wire::ErrorReply>(&sent.back().envelope.message);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->error.code, ErrorCode::kUnavailable);
  EXPECT_GT(error->retry_after_ms, 0);
}

TEST(Loading, a_store_that_cannot_be_read_ends_the_scheduler) {
  FakeClock clock;
  auto arena = PageArena::create(testing::demo_model().kv_layout.page_bytes(), 4);
  SchedulerCore core({}, testing::demo_model(), *arena, clock);
  EXPECT_THROW(core.on_answer(wire::StoreAck{1, Error{ErrorCode::kIo, "", "no"}}),
               std::runtime_error);
}

}  // namespace
}  // namespace cascade
