// A request gives up only what it names, and the reply says what ended and what stayed.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::SchedulerWorld;

class GivingUp : public ::testing::Test {
 protected:
  Chunk named(const std::string& name, std::optional<int64_t> ttl_ms = {}) {
    wire::ChunkPut put{ChunkType::kContext, "Ana likes plums."};
    put.name = name;
    put.ttl_ms = ttl_ms;
    return world_.one<wire::ChunkReply>(world_.send(put)).chunk;
  }
  wire::ChunkReply set_pinned(const std::string& id, bool pinned) {
    wire::ChunkUpdate update;
    update.id = id;
    update.pinned = pinned;
    return world_.one<wire::ChunkReply>(world_.send(update));
  }
  wire::ChunkReply give_up(const std::string& id, const std::string& name = {}) {
    return world_.one<wire::ChunkReply>(world_.send(wire::ChunkDelete{id, name}));
  }
  Error refusal(const wire::ChunkDelete& request) { return world_.error(world_.send(request)); }
  void pass(int64_t us) {
    world_.clock.advance_us(us);
    world_.core().on_tick();
  }

  SchedulerWorld world_;
};

TEST_F(GivingUp, a_name_outlives_its_time_while_the_chunk_is_pinned_and_ends_with_the_pin) {
  const std::string id = named("best", 10).id;
  EXPECT_TRUE(set_pinned(id, true).ended.empty());
  pass(20'000'000);
  EXPECT_EQ(world_.chunk(id).name, "best");
  EXPECT_EQ(world_.chunk(id).holders.size(), 2u);
  const wire::ChunkReply reply = set_pinned(id, false);
  EXPECT_EQ(reply.gone, true);
  EXPECT_TRUE(reply.chunk.holders.empty());
  EXPECT_FALSE(reply.chunk.pinned);
  ASSERT_EQ(reply.ended.size(), 2u);
  EXPECT_EQ(reply.ended[0].kind, HolderKind::kPin);
  EXPECT_EQ(reply.ended[1].label, "best");
  EXPECT_NE(world_.error(world_.send(wire::ChunkGet{id})).message.find("has expired"),
            std::string::npos);
}

TEST_F(GivingUp, a_time_that_is_given_with_the_unpin_is_the_one_that_counts) {
  const std::string id = named("best", 10).id;
  set_pinned(id, true);
  pass(20'000'000);
  wire::ChunkUpdate update;
  update.id = id;
  update.pinned = false;
  update.ttl_ms = 60'000;
  const auto reply = world_.one<wire::ChunkReply>(world_.send(update));
  EXPECT_FALSE(reply.gone.has_value());
  ASSERT_EQ(reply.ended.size(), 1u);
  EXPECT_EQ(reply.ended[0].kind, HolderKind::kPin);
  EXPECT_EQ(reply.chunk.name, "best");
}

TEST_F(GivingUp, the_last_name_of_a_pinned_chunk_is_refused_by_name_and_without) {
  const std::string id = named("best").id;
  set_pinned(id, true);
  for (const wire::ChunkDelete& request :
       {wire::ChunkDelete{id, "best"}, wire::ChunkDelete{id}, wire::ChunkDelete{id, "", true}}) {
    const Error refused = refusal(request);
    EXPECT_EQ(refused.code, ErrorCode::kConflict);
    EXPECT_EQ(refused.field, "id");
    EXPECT_NE(refused.message.find("is pinned; unpin it first"), std::string::npos);
  }
  EXPECT_EQ(world_.chunk(id).holders.size(), 2u);
  named("other");
  const wire::ChunkReply reply = give_up(id, "best");
  EXPECT_FALSE(reply.gone.has_value());
  ASSERT_EQ(reply.ended.size(), 1u);
  EXPECT_EQ(reply.ended[0].label, "best");
  ASSERT_EQ(reply.chunk.holders.size(), 2u);
  EXPECT_EQ(reply.chunk.name, "other");
}

TEST_F(GivingUp, who_gives_up_a_pinned_name_hears_what_ended_with_its_pin) {
  named("short", 10);
  wire::ChunkPut put{ChunkType::kContext, "Ana likes plums."};
  put.name = "long";
  put.pinned = true;
  const std::string id = world_.one<wire::ChunkReply>(world_.send(put)).chunk.id;
  pass(20'000'000);
  const wire::ChunkReply reply = give_up(id, "long");
  EXPECT_EQ(reply.gone, true);
  ASSERT_EQ(reply.ended.size(), 2u);
  EXPECT_EQ(reply.ended[0].label, "long");
  EXPECT_EQ(reply.ended[1].label, "short");
}

TEST_F(GivingUp, the_reply_says_which_retention_ended_and_who_stays) {
  wire::ChunkPut put{ChunkType::kContext, "Ana likes plums."};
  const std::string id = world_.one<wire::ChunkReply>(world_.send(put)).chunk.id;
  put.ttl_ms = 60'000;
  const auto again = world_.one<wire::ChunkReply>(world_.send(put));
  EXPECT_TRUE(again.ended.empty());
  EXPECT_FALSE(again.gone.has_value());
  const wire::ChunkReply first = give_up(id);
  ASSERT_EQ(first.ended.size(), 1u);
  EXPECT_NE(first.ended[0].expires_us, 0);
  ASSERT_EQ(first.chunk.holders.size(), 1u);
  EXPECT_EQ(first.chunk.holders[0].expires_us, 0);
  const wire::ChunkReply second = give_up(id);
  EXPECT_EQ(second.gone, true);
  ASSERT_EQ(second.ended.size(), 1u);
  EXPECT_TRUE(second.chunk.holders.empty());
}

TEST_F(GivingUp, names_that_are_cleared_are_told) {
  const std::string id = named("best").id;
  wire::ChunkUpdate update;
  update.id = id;
  update.name = "";
  const auto reply = world_.one<wire::ChunkReply>(world_.send(update));
  ASSERT_EQ(reply.ended.size(), 1u);
  EXPECT_EQ(reply.ended[0].label, "best");
  ASSERT_EQ(reply.chunk.holders.size(), 1u);
  EXPECT_EQ(reply.chunk.holders[0].kind, HolderKind::kRetention);
}

TEST_F(GivingUp, a_delete_once_more_says_that_the_chunk_is_gone) {
  const std::string id = named("best").id;
  world_.tamper = [](wire::Message& answer) {
    auto* done = std::get_if<wire::StoreAck>(&answer);
    if (done != nullptr) done->error = Error{ErrorCode::kIo, "store", "no luck"};
  };
  EXPECT_EQ(refusal({id}).code, ErrorCode::kIo);
  world_.tamper = {};
  const uint64_t again = world_.send(wire::ChunkDelete{id});
  world_.clock.advance_us(3'000'000);
  world_.core().on_tick();
  world_.pump();
  EXPECT_EQ(world_.one<wire::ChunkReply>(again).gone, true);
}

}  // namespace
}  // namespace cascade
