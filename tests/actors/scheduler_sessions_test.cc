// Conversations by name, and how long chunks live if no request says so.
#include <gtest/gtest.h>

#include "tests/actors/deletion_traces.h"
#include "tests/actors/durable_test.h"

namespace cascade {
namespace {

using testing::ask;
using testing::kGeographer;
using testing::output_ref;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;
using testing::Traces;

class Sessions : public testing::DurableTest {
 protected:
  Sessions() : DurableTest(testing::keeping_pages()) {}

  static wire::GenerateRequest turn(const std::string& question,
                                    const std::string& session = "trip") {
    wire::GenerateRequest request = ask({system_text(kGeographer), query_text(question)});
    request.session = session;
    return request;
  }
  wire::Final say(const std::string& question, const std::string& session = "trip") {
    return world_->one<wire::Final>(world_->send(turn(question, session)));
  }
  wire::SessionReply session(const std::string& id = "trip") {
    return world_->one<wire::SessionReply>(world_->send(wire::SessionGet{id}));
  }
};

TEST_F(Sessions, the_turns_so_far_come_before_what_a_request_adds) {
  const wire::Final first = say("Capital of France?");
  const wire::Final second = say("And of Italy?");
  EXPECT_GT(second.usage.prompt_tokens, first.usage.prompt_tokens);
  wire::GenerateRequest by_hand = ask(
      {system_text(kGeographer), output_ref(first.output_chunk_id), query_text("And of Italy?")});
  const auto same = world_->one<wire::Final>(world_->send(by_hand));
  EXPECT_EQ(same.token_ids, second.token_ids);
  EXPECT_EQ(same.usage.prompt_tokens, second.usage.prompt_tokens);
  const wire::SessionReply now = session();
  EXPECT_EQ(now.session.turns, 2);
  EXPECT_EQ(now.turns,
            (std::vector<SessionTurn>{{0, first.output_chunk_id}, {1, second.output_chunk_id}}));
}

TEST_F(Sessions, are_there_after_kill_9) {
  const wire::Final first = say("Capital of France?");
  ASSERT_TRUE(first.durable);
  const wire::SessionReply before = session();
  restart();
  const wire::SessionReply after = session();
  EXPECT_EQ(after.turns, before.turns);
  EXPECT_EQ(after.session.created_us, before.session.created_us);
  EXPECT_EQ(after.session.last_used_us, before.session.last_used_us);
  const wire::Final second = say("And of Italy?");
  EXPECT_EQ(session().turns.size(), 2u);
  EXPECT_GT(second.usage.prompt_tokens, first.usage.prompt_tokens);
}

TEST_F(Sessions, another_request_of_the_same_session_is_refused_while_one_runs) {
  const uint64_t first = world_->post(turn("Capital of France?"));
  const Error refused = world_->error(world_->post(turn("And of Italy?")));
  EXPECT_EQ(refused.code, ErrorCode::kConflict);
  EXPECT_EQ(refused.field, "session");
  EXPECT_EQ(world_->error(world_->post(wire::SessionDelete{"trip", false})).code,
            ErrorCode::kNotFound);  // a session begins with its first turn
  const uint64_t other = world_->post(turn("And of Italy?", "another"));
  world_->pump();
  world_->one<wire::Final>(first);
  world_->one<wire::Final>(other);
  EXPECT_TRUE(say("And of Italy?").durable);
}

TEST_F(Sessions, a_request_that_fails_or_is_cancelled_is_no_turn) {
  say("Capital of France?");
  wire::GenerateRequest wrong = turn("And of Italy?");
  wrong.chunks.insert(wrong.chunks.begin() + 1, output_ref("output_that_is_not_there"));
  EXPECT_EQ(world_->error(world_->send(wrong)).field, "chunks[1].id");
  const uint64_t cancelled = world_->post(turn("And of Spain?"));
  while (world_->all<wire::Delta>(cancelled).empty() && world_->pump(1) > 0 &&
         world_->all<wire::Final>(cancelled).empty()) {
    if (world_->jobs_for(testing::Actor::kDecode) > 0) break;
  }
  world_->post(wire::CancelRequest{testing::request_id(cancelled)});
  world_->pump();
  EXPECT_EQ(world_->one<wire::Final>(cancelled).finish_reason, "cancelled");
  EXPECT_EQ(session().turns.size(), 1u);
  say("And of Italy?");
  EXPECT_EQ(session().turns.size(), 2u);
}

TEST_F(Sessions, that_lost_a_turn_are_refused_unless_the_request_goes_on_without_it) {
  const wire::Final first = say("Capital of France?");
  const int64_t two = say("And of Italy?").usage.prompt_tokens;
  world_->one<wire::ChunkReply>(
      world_->send(wire::ChunkDelete{first.output_chunk_id, "", /*all=*/true}));
  wire::GenerateRequest next = turn("And of Italy?");
  const Error refused = world_->error(world_->send(next));
  EXPECT_EQ(refused.code, ErrorCode::kNotFound);
  EXPECT_EQ(refused.field, "session");
  EXPECT_NE(refused.message.find("turn 1 of the session \"trip\" is gone"), std::string::npos)
      << refused.message;
  EXPECT_EQ(session().turns.size(), 2u);
  next.on_missing = OnMissing::kSkip;
  const auto after = world_->one<wire::Final>(world_->send(next));
  EXPECT_LT(after.usage.prompt_tokens, 2 * two);
  ASSERT_EQ(after.missing.size(), 1u);
  EXPECT_EQ(after.missing[0].id, first.output_chunk_id);
  EXPECT_NE(after.missing[0].reason.find("was deleted"), std::string::npos);
  EXPECT_EQ(session().turns.size(), 3u);
}

TEST_F(Sessions, keep_their_turns_when_others_who_had_the_same_output_give_it_up) {
  const wire::Final turn_of_a = say("Capital of France?", "a");
  const wire::Final turn_of_b = say("Capital of France?", "b");
  ASSERT_EQ(turn_of_a.output_chunk_id, turn_of_b.output_chunk_id);
  const std::string& id = turn_of_a.output_chunk_id;
  wire::GenerateRequest retained =
      ask({system_text(kGeographer), query_text("Capital of France?")});
  retained.retain_output = true;
  retained.output_ttl_ms = 1000;
  ASSERT_EQ(world_->one<wire::Final>(world_->send(retained)).output_chunk_id, id);
  ASSERT_EQ(world_->chunk(id).holders.size(), 3u);
  world_->clock.advance_us(2'000'000);
  world_->core().on_tick();
  EXPECT_EQ(world_->chunk(id).holders.size(), 2u);
  wire::ChunkUpdate named;
  named.id = id;
  named.name = "kept";
  world_->one<wire::ChunkReply>(world_->send(named));
  world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{"b", true}));
  restart();
  EXPECT_EQ(say("And of Italy?", "a").missing.size(), 0u);
  world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{"a", true}));
  EXPECT_EQ(world_->chunk(id).name, "kept");
  const Chunk gone = world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{id})).chunk;
  EXPECT_TRUE(gone.holders.empty());
  EXPECT_EQ(world_->error(world_->send(wire::ChunkGet{id})).code, ErrorCode::kNotFound);
}

TEST_F(Sessions, tenants_have_their_own) {
  say("Capital of France?");
  EXPECT_EQ(world_->error(world_->send_as("alice", wire::SessionGet{"trip"})).code,
            ErrorCode::kNotFound);
  EXPECT_EQ(world_->error(world_->send_as("alice", wire::SessionDelete{"trip", true})).code,
            ErrorCode::kNotFound);
  const auto list =
      world_->one<wire::SessionListReply>(world_->send_as("alice", wire::SessionListRequest{}));
  EXPECT_TRUE(list.sessions.empty());
}

TEST_F(Sessions, are_deleted_with_or_without_their_outputs) {
  const wire::Final first = say("Capital of France?", "a");
  const wire::Final second = say("Capital of Italy?", "b");
  EXPECT_EQ(
      world_->one<wire::SessionListReply>(world_->send(wire::SessionListRequest{})).sessions.size(),
      2u);
  EXPECT_TRUE(
      world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{"a", false})).durable);
  EXPECT_EQ(world_->chunk(first.output_chunk_id).id, first.output_chunk_id);
  world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{"b", true}));
  EXPECT_EQ(world_->error(world_->send(wire::ChunkGet{second.output_chunk_id})).code,
            ErrorCode::kNotFound);
  restart();
  EXPECT_TRUE(world_->one<wire::SessionListReply>(world_->send(wire::SessionListRequest{}))
                  .sessions.empty());
}

TEST_F(Sessions, with_a_pinned_output_are_not_deleted_with_their_outputs) {
  const wire::Final first = say("Capital of France?");
  wire::ChunkUpdate pin;
  pin.id = first.output_chunk_id;
  pin.pinned = true;
  world_->one<wire::ChunkReply>(world_->send(pin));
  const Error refused = world_->error(world_->send(wire::SessionDelete{"trip", true}));
  EXPECT_EQ(refused.code, ErrorCode::kConflict);
  EXPECT_EQ(refused.field, "outputs");
  EXPECT_EQ(session().turns.size(), 1u);
}

TEST_F(Sessions, keep_their_turns_from_a_delete_that_does_not_name_them) {
  const std::string id = say("Capital of France?").output_chunk_id;
  const Error refused = world_->error(world_->send(wire::ChunkDelete{id}));
  EXPECT_EQ(refused.code, ErrorCode::kConflict);
  EXPECT_EQ(refused.field, "id");
  EXPECT_NE(refused.message.find("held by a turn of the session \"trip\": a session's turn ends "
                                 "with \"session delete --outputs\", or with \"all\""),
            std::string::npos)
      << refused.message;
  EXPECT_EQ(world_->chunk(id).holders.size(), 1u);
  const auto reply =
      world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{id, "", /*all=*/true}));
  EXPECT_EQ(reply.gone, true);
  ASSERT_EQ(reply.ended.size(), 1u);
  EXPECT_EQ(reply.ended[0].label, "trip");
}

TEST_F(Sessions, that_are_deleted_tell_what_became_of_each_output) {
  const std::string first = say("Capital of France?").output_chunk_id;
  const std::string second = say("And of Italy?").output_chunk_id;
  const std::string third = say("And of Spain?").output_chunk_id;
  world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{second, "", /*all=*/true}));
  wire::ChunkUpdate name;
  name.id = third;
  for (const char* label : {"a", "b", "c", "d", "e", "f"}) {
    name.name = label;
    world_->one<wire::ChunkReply>(world_->send(name));
  }
  const auto reply =
      world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{"trip", true}));
  EXPECT_EQ(reply.turns.size(), 3u);
  ASSERT_EQ(reply.outputs.size(), 2u) << "one was gone before";
  EXPECT_EQ(reply.outputs[0].id, first);
  EXPECT_TRUE(reply.outputs[0].gone);
  EXPECT_EQ(reply.outputs[0].held_by, "");
  EXPECT_EQ(reply.outputs[1].id, third);
  EXPECT_FALSE(reply.outputs[1].gone);
  EXPECT_EQ(reply.outputs[1].held_by,
            "the name \"a\", the name \"b\", the name \"c\", the name \"d\", 2 others");
}

TEST_F(Sessions, that_are_deleted_without_their_outputs_tell_who_holds_these) {
  const std::string id = say("Capital of France?").output_chunk_id;
  const auto reply =
      world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{"trip", false}));
  ASSERT_EQ(reply.outputs.size(), 1u);
  EXPECT_EQ(reply.outputs[0].id, id);
  EXPECT_FALSE(reply.outputs[0].gone);
  EXPECT_EQ(reply.outputs[0].held_by, "a retention");
}

// Whenever the kill comes, the session exists until all of its outputs are removed.
TEST_F(Sessions, that_are_killed_while_they_are_deleted_can_be_deleted_again) {
  size_t steps = 0;
  for (bool answered = false; !answered; ++steps) {
    SCOPED_TRACE(std::to_string(steps) + " steps");
    const std::string first = say("Capital of France?").output_chunk_id;
    const std::string second = say("And of Italy?").output_chunk_id;
    world_->store_at_once = false;
    const uint64_t number = world_->post(wire::SessionDelete{"trip", true});
    world_->pump(steps);
    answered = !world_->all<wire::SessionReply>(number).empty();
    restart();
    const bool is_there =
        world_->all<wire::ErrorReply>(world_->send(wire::SessionGet{"trip"})).empty();
    EXPECT_TRUE(is_there || steps > 1) << "the kill came before any step";
    if (is_there) {
      EXPECT_FALSE(answered);
      world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{"trip", true}));
    }
    for (const std::string& output : {first, second}) {
      EXPECT_EQ(world_->error(world_->send(wire::ChunkGet{output})).code, ErrorCode::kNotFound);
    }
  }
  EXPECT_GT(steps, 3u);
}

TEST_F(Sessions, leave_nothing_of_their_names_on_disk) {
  for (const bool outputs : {false, true}) {
    const std::string name = outputs ? "a trip to Zanzibar" : "a trip to Madagascar";
    Traces traces;
    traces.add_word(name);
    const auto found = [&] {
      return traces.found_on(disk_, [](std::span<const int32_t>) { return true; });
    };
    say("Capital of France?", name);
    say("And of Italy?", name);
    EXPECT_NE(found(), std::nullopt);
    world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{name, outputs}));
    EXPECT_EQ(found(), std::nullopt);
  }
}

TEST_F(Sessions, that_are_made_anew_while_they_are_deleted_stay) {
  say("Capital of France?");
  say("And of Italy?");
  world_->store_at_once = false;
  const uint64_t deleted = world_->post(wire::SessionDelete{"trip", true});
  const uint64_t asked = world_->post(turn("Capital of Spain?"));
  EXPECT_TRUE(world_->all<wire::SessionReply>(deleted).empty());
  world_->pump();
  world_->one<wire::SessionReply>(deleted);
  const std::string output = world_->one<wire::Final>(asked).output_chunk_id;
  restart();
  ASSERT_EQ(session().turns.size(), 1u);
  EXPECT_EQ(session().turns[0].output_id, output);
}

TEST_F(Sessions, what_the_store_could_not_keep_is_kept_later) {
  say("Capital of France?");
  disk_.set_capacity(0);
  const wire::Final second = say("And of Italy?");
  EXPECT_FALSE(second.durable);
  disk_.set_capacity(uint64_t{1} << 40);
  world_->clock.advance_us(3'000'000);
  world_->core().on_tick();
  world_->pump();
  restart();
  EXPECT_EQ(session().turns.size(), 2u);
}

TEST_F(Sessions, a_policy_gives_new_chunks_their_time_to_live) {
  const auto put = [&](const std::string& text, std::optional<int64_t> ttl_ms = {}) {
    wire::ChunkPut request;
    request.text = text;
    request.ttl_ms = ttl_ms;
    return world_->one<wire::ChunkReply>(world_->send(request)).chunk;
  };
  EXPECT_EQ(put("before").expires_us, 0);
  const auto set =
      world_->one<wire::PolicyReply>(world_->send(wire::PolicySet{ChunkType::kContext, 60'000}));
  EXPECT_TRUE(set.durable);
  ASSERT_EQ(set.policies.size(), 1u);
  EXPECT_EQ(set.policies[0].ttl_ms, 60'000);
  const Chunk ruled = put("by the policy");
  EXPECT_EQ(ruled.expires_us, ruled.created_us + 60'000'000);
  EXPECT_EQ(put("for ever", 0).expires_us, 0);
  const Chunk own = put("its own", 5'000);
  EXPECT_LE(own.expires_us, world_->clock.wall_us() + 5'000'000);
  EXPECT_EQ(world_->chunk(put("before").id).expires_us, 0);  // an older chunk keeps its time
  // Outputs have a policy of their own, and so has each tenant.
  wire::GenerateRequest request = ask({query_text("Capital of France?")});
  request.retain_output = true;
  const wire::Final final = world_->one<wire::Final>(world_->send(request));
  EXPECT_EQ(world_->chunk(final.output_chunk_id).expires_us, 0);
  EXPECT_TRUE(
      world_->one<wire::PolicyReply>(world_->send_as("alice", wire::PolicyGet{})).policies.empty());
  restart();
  const Chunk later = put("after a restart");
  EXPECT_EQ(later.expires_us, later.created_us + 60'000'000);
  world_->one<wire::PolicyReply>(world_->send(wire::PolicySet{ChunkType::kContext, 0}));
  restart();
  EXPECT_TRUE(world_->one<wire::PolicyReply>(world_->send(wire::PolicyGet{})).policies.empty());
  EXPECT_EQ(put("without a policy").expires_us, 0);
}

}  // namespace
}  // namespace cascade
