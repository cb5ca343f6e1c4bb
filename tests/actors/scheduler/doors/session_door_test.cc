// Conversations by name.
#include "actors/scheduler/doors/session_door.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/actors/scheduler/keep/keep_test.h"

namespace cascade {
namespace {

using Ids = std::vector<std::string>;

class SessionDoorTest : public testing::KeepTest {
 protected:
  static Request in_session(const std::string& session) {
    Request request;
    request.client = {"alice", "c", Door::kIpc};
    request.params.session = session;
    return request;
  }
  // An output of alice that the session holds.
  ChunkEntry& held_by(const std::string& session, const std::string& id) {
    ChunkEntry& entry = held_output(id, 2);
    entry.chunk.holders = {{.kind = HolderKind::kSession, .label = session}};
    return entry;
  }
  // A conversation of these outputs.
  void converse(const std::string& session, const Ids& outputs) {
    for (const std::string& id : outputs) {
      held_by(session, id);
      Request request = in_session(session);
      ASSERT_TRUE(door_.enter(request).ok());
      door_.add_turn(request, id);
    }
  }
  // A session of alice from before the start, whose only turn is this output.
  void restore(const std::string& session, const std::string& output) {
    door_.restore({.id = session,
                   .tenant = "alice",
                   .created_us = 1,
                   .last_used_us = 1,
                   .turns = {{.number = 0, .output_id = output}}});
  }
  Ids turns_of(const std::string& session) {
    door_.on(client_, {1}, wire::SessionGet{session});
    Ids ids;
    for (const auto& reply : take<wire::SessionReply>()) {
      for (const SessionTurn& turn : reply.turns) ids.push_back(turn.output_id);
    }
    return ids;
  }
  // The store has kept all changes, and has removed everything that it was to remove.
  void acknowledge() {
    for (uint64_t job = 1, last = jobs_.next(); job < last; ++job) {
      if (!stored_.on(wire::StoreAck{job, {}})) metadata_.on(wire::StoreAck{job, {}});
    }
  }
  // The code of the last error that was answered; nullopt: there was none.
  std::optional<ErrorCode> error() {
    const auto errors = take<wire::ErrorReply>();
    if (errors.empty()) return std::nullopt;
    return errors.back().error.code;
  }
  Ids holders_of(const std::string& id) {
    const auto found = registry_.find_own("alice", id);
    if (!found.ok()) return {"gone"};
    return {describe_holders((*found)->chunk)};
  }

  const Client client_ = {"alice", "c", Door::kIpc};
  SessionDoor door_{clock_, outbox_, metadata_, registry_, erasures_, pins_, removals_};
};

TEST_F(SessionDoorTest, an_answer_is_the_next_turn_of_the_session_that_its_request_names) {
  Request request = in_session("chat");
  ASSERT_TRUE(door_.enter(request).ok());
  EXPECT_TRUE(request.params.retain_output);
  EXPECT_TRUE(turns_of("chat").empty()) << "it begins with its first turn";
  door_.add_turn(request, "a");
  EXPECT_EQ(take<wire::StoreSession>().size(), 1u);
  EXPECT_EQ(turns_of("chat"), Ids{"a"});
  door_.on(client_, {1}, wire::SessionListRequest{});
  EXPECT_EQ(take<wire::SessionListReply>().at(0).sessions.size(), 1u);
  door_.on({"bob", "c", Door::kIpc}, {1}, wire::SessionGet{"chat"});
  EXPECT_EQ(error(), ErrorCode::kNotFound) << "it is alice's";
}

TEST_F(SessionDoorTest, one_request_at_a_time_makes_the_next_turn) {
  Request first = in_session("chat");
  Request second = in_session("chat");
  ASSERT_TRUE(door_.enter(first).ok());
  EXPECT_EQ(door_.enter(second).error().code, ErrorCode::kConflict);
  door_.leave(second);
  EXPECT_FALSE(door_.enter(second).ok()) << "it has nothing to leave";
  door_.leave(first);
  EXPECT_TRUE(door_.enter(second).ok());
}

TEST_F(SessionDoorTest, a_request_without_a_session_makes_no_turn) {
  Request request = in_session("");
  ASSERT_TRUE(door_.enter(request).ok());
  EXPECT_FALSE(request.params.retain_output);
  door_.add_turn(request, "a");
  EXPECT_TRUE(take<wire::StoreSession>().empty());
}

TEST_F(SessionDoorTest, a_request_goes_on_from_the_turns_before_it) {
  converse("chat", {"a", "b"});
  Request request = in_session("chat");
  ASSERT_TRUE(door_.enter(request).ok());
  const auto earlier = door_.turns_before(request, OnMissing::kError);
  ASSERT_TRUE(earlier.ok());
  ASSERT_EQ(earlier->chunks.size(), 2u);
  EXPECT_EQ(earlier->chunks[1].id, "b");
}

TEST_F(SessionDoorTest, a_session_that_drops_turns_goes_on_where_its_last_turn_began) {
  converse("chat", {"a", "b", "c"});
  Request request = in_session("chat");
  request.params.on_overflow = OnOverflow::kDropOldest;
  ASSERT_TRUE(door_.enter(request).ok());
  EXPECT_EQ(door_.on_overflow(request), std::nullopt) << "no turn has said so";
  request.on_overflow = OnOverflow::kDropOldest;
  request.session_turns = {0, 1, 2};
  request.answers_left_out = 2;
  held_by("chat", "d");
  door_.add_turn(request, "d");

  Request next = in_session("chat");
  ASSERT_TRUE(door_.enter(next).ok());
  EXPECT_EQ(door_.on_overflow(next), OnOverflow::kDropOldest);
  next.on_overflow = OnOverflow::kDropOldest;
  const auto earlier = door_.turns_before(next, OnMissing::kError);
  ASSERT_TRUE(earlier.ok());
  EXPECT_EQ(earlier->turns, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(earlier->left_out, (LeftOut{2, 0}));
  next.on_overflow = OnOverflow::kError;
  EXPECT_EQ(door_.turns_before(next, OnMissing::kError)->chunks.size(), 4u);
}

// A session plans where its prompts are to begin.
class SessionPlans : public SessionDoorTest {
 protected:
  SessionPlans() {
    converse("chat", {"a", "b", "c"});
    say(OnOverflow::kDropOldest, "d");
  }
  void say(OnOverflow choice, const std::string& output, size_t left_out = 0) {
    Request request = in_session("chat");
    request.params.on_overflow = request.on_overflow = choice;
    request.session_turns = {0, 1, 2};
    request.answers_left_out = left_out;
    ASSERT_TRUE(door_.enter(request).ok());
    held_by("chat", output);
    door_.add_turn(request, output);
  }
  // The history that ends with this output was tokenized without `turns` turns. Returns whether it
  // is of use.
  bool plan(const std::string& output, int64_t turns, std::optional<Error> error = {}) {
    Reprefill chain;
    chain.tenant = "alice";
    chain.chunk_id = output;
    chain.shorter = {.session = "chat", .begins = {0, 1, 2, 3}, .left_out = {}};
    wire::EncodeDone done;
    done.error = std::move(error);
    done.left_out = LeftOut{turns, 0};
    door_.plan(chain, done);
    return chain.shorter->left_out != LeftOut();
  }
  std::optional<int64_t> planned() {
    Request request = in_session("chat");
    EXPECT_TRUE(door_.enter(request).ok());
    const auto begin = door_.planned(request);
    door_.leave(request);
    return begin;
  }
};

TEST_F(SessionPlans, hold_until_a_turn_begins_there) {
  EXPECT_EQ(planned(), std::nullopt);
  EXPECT_TRUE(plan("d", 2));
  EXPECT_EQ(planned(), 2);
  say(OnOverflow::kDropOldest, "e", 1);
  EXPECT_EQ(planned(), 2);
  say(OnOverflow::kDropOldest, "f", 2);
  EXPECT_EQ(planned(), std::nullopt);
  EXPECT_FALSE(plan("f", 2)) << "the session begins there already";
}

TEST_F(SessionPlans, are_given_up_when_a_turn_is_to_have_all) {
  EXPECT_TRUE(plan("d", 2));
  say(OnOverflow::kError, "e");
  EXPECT_EQ(planned(), std::nullopt);
  EXPECT_FALSE(plan("e", 2)) << "the session leaves out nothing";
}

TEST_F(SessionPlans, are_for_the_session_that_has_the_turn) {
  EXPECT_FALSE(plan("another", 2));
  EXPECT_FALSE(plan("b", 2)) << "that turn is left out itself";
  EXPECT_FALSE(plan("d", 0));
  EXPECT_FALSE(plan("d", 2, Error{ErrorCode::kInternal, "", "no"}));
  EXPECT_TRUE(plan("d", 3));
  door_.on(client_, {1}, wire::SessionDelete{"chat", false});
  EXPECT_EQ(planned(), std::nullopt);
}

TEST_F(SessionDoorTest, a_turn_that_is_gone_is_an_error_unless_it_is_skipped) {
  converse("chat", {"a", "b"});
  removals_.remove(**registry_.find_own("alice", "a"), Removal::kDeleted);
  Request request = in_session("chat");
  ASSERT_TRUE(door_.enter(request).ok());
  const auto refused = door_.turns_before(request, OnMissing::kError);
  EXPECT_EQ(refused.error().field, "session");
  EXPECT_NE(refused.error().message.find("turn 1 of the session \"chat\" is gone"),
            std::string::npos);
  const auto skipped = door_.turns_before(request, OnMissing::kSkip);
  ASSERT_TRUE(skipped.ok());
  EXPECT_EQ(skipped->chunks.size(), 1u);
  ASSERT_EQ(skipped->missing.size(), 1u);
  EXPECT_EQ(skipped->missing[0].id, "a");
}

TEST_F(SessionDoorTest, a_deleted_session_leaves_its_outputs_to_the_tenant) {
  converse("chat", {"a"});
  acknowledge();
  outbox_.take();
  door_.on(client_, {1}, wire::SessionDelete{"chat", /*outputs=*/false});
  EXPECT_EQ(take<wire::StoreSessionDelete>().size(), 1u);
  EXPECT_TRUE(take<wire::SessionReply>().empty()) << "nothing of it is durable yet";
  acknowledge();
  const auto replies = take<wire::SessionReply>();
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_FALSE(replies[0].outputs.at(0).gone);
  EXPECT_EQ(holders_of("a").at(0).find("session"), std::string::npos);
  EXPECT_TRUE(turns_of("chat").empty());
}

TEST_F(SessionDoorTest, outputs_that_are_deleted_with_it_are_gone_before_the_session) {
  converse("chat", {"a", "b"});
  ChunkEntry& shared = **registry_.find_own("alice", "a");
  shared.chunk.holders.push_back({.kind = HolderKind::kName, .label = "mine"});
  door_.on(client_, {1}, wire::SessionDelete{"chat", /*outputs=*/true});
  EXPECT_EQ(holders_of("b"), Ids{"gone"});
  EXPECT_NE(holders_of("a").at(0).find("mine"), std::string::npos);
  EXPECT_TRUE(take<wire::StoreSessionDelete>().empty()) << "a crash would leave outputs behind";
  EXPECT_TRUE(sessions_removed_.empty());
  acknowledge();  // the pages are removed
  acknowledge();  // the rows are removed
  EXPECT_EQ(sessions_removed_, Ids{"chat"});
}

TEST_F(SessionDoorTest, an_output_that_only_the_session_and_a_pin_hold_must_be_unpinned_first) {
  converse("chat", {"a", "b"});
  ChunkEntry& entry = **registry_.find_own("alice", "a");
  entry.chunk.holders[0].pinned = true;
  complete_holders(entry.chunk);
  door_.on(client_, {1}, wire::SessionDelete{"chat", /*outputs=*/true});
  const auto refused = take<wire::ErrorReply>();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].error.code, ErrorCode::kConflict);
  EXPECT_EQ(refused[0].error.field, "outputs");
  EXPECT_EQ(turns_of("chat"), (Ids{"a", "b"}));
}

TEST_F(SessionDoorTest, a_session_that_a_request_has_is_not_deleted) {
  converse("chat", {"a"});
  Request request = in_session("chat");
  ASSERT_TRUE(door_.enter(request).ok());
  door_.on(client_, {1}, wire::SessionDelete{"chat", /*outputs=*/false});
  EXPECT_EQ(error(), ErrorCode::kConflict);
}

TEST_F(SessionDoorTest, an_output_whose_session_was_lost_in_a_crash_is_the_tenants) {
  held_by("chat", "a");
  held_by("chat", "b");
  restore("chat", "a");
  door_.match_holders();
  EXPECT_NE(holders_of("a").at(0).find("session \"chat\""), std::string::npos);
  EXPECT_EQ(holders_of("b").at(0).find("session"), std::string::npos);
}

TEST_F(SessionDoorTest, an_output_from_before_there_were_holders_gets_its_session) {
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  entry.holders_guessed = true;
  restore("chat", "a");
  door_.match_holders();
  EXPECT_NE(holders_of("a").at(0).find("session \"chat\""), std::string::npos);
}

TEST_F(SessionDoorTest, a_session_is_stored_as_it_is_now) {
  converse("chat", {"a"});
  take<wire::StoreSession>();
  door_.store({"alice", "chat", StoredKind::kSession});
  EXPECT_EQ(take<wire::StoreSession>().size(), 1u);
  door_.store({"alice", "other", StoredKind::kSession});
  EXPECT_EQ(take<wire::StoreSessionDelete>().size(), 1u);
}

}  // namespace
}  // namespace cascade
