// Sessions: turns, who may make the next one, limits.
#include "cache/session_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cascade {
namespace {

constexpr int64_t kNowUs = 1'800'000'000'000'000;

void enter_and_add(SessionRegistry& sessions, const std::string& tenant, const std::string& id,
                   const std::string& output, int64_t now_us = kNowUs) {
  ASSERT_TRUE(sessions.enter(tenant, id).ok());
  sessions.add_turn(tenant, id, {output}, now_us);
}

TEST(SessionRegistry, a_session_begins_with_its_first_turn) {
  SessionRegistry sessions;
  ASSERT_TRUE(sessions.enter("a", "trip").ok());
  EXPECT_EQ(sessions.find("a", "trip"), nullptr);
  const Session& first = sessions.add_turn("a", "trip", {"output_1"}, kNowUs);
  EXPECT_EQ(first, (Session{"trip", "a", kNowUs, kNowUs, {{0, "output_1"}}}));
  enter_and_add(sessions, "a", "trip", "output_2", kNowUs + 5);
  EXPECT_EQ(*sessions.find("a", "trip"),
            (Session{"trip", "a", kNowUs, kNowUs + 5, {{0, "output_1"}, {1, "output_2"}}}));
  EXPECT_EQ(sessions.find("b", "trip"), nullptr);
}

TEST(SessionRegistry, a_turn_may_change_what_the_session_does_when_it_is_too_long) {
  SessionRegistry sessions;
  ASSERT_TRUE(sessions.enter("a", "trip").ok());
  sessions.add_turn("a", "trip", {"output_1", OnOverflow::kDropOldest, 7}, kNowUs);
  EXPECT_EQ(sessions.find("a", "trip")->on_overflow, OnOverflow::kDropOldest);
  EXPECT_EQ(sessions.find("a", "trip")->left_out_turns, 7);
  ASSERT_TRUE(sessions.enter("a", "trip").ok());
  sessions.add_turn("a", "trip", {"output_2", {}, 3}, kNowUs);
  EXPECT_EQ(sessions.find("a", "trip")->on_overflow, OnOverflow::kDropOldest) << "it stays";
  EXPECT_EQ(sessions.find("a", "trip")->left_out_turns, 7) << "it began before that was known";
  enter_and_add(sessions, "a", "trip", "output_3");
  EXPECT_EQ(sessions.find("a", "trip")->left_out_turns, std::nullopt) << "this turn had all";
}

TEST(SessionRegistry, one_request_at_a_time_makes_the_next_turn) {
  SessionRegistry sessions;
  ASSERT_TRUE(sessions.enter("a", "trip").ok());
  const Status second = sessions.enter("a", "trip");
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_EQ(second.error().field, "session");
  EXPECT_TRUE(sessions.enter("b", "trip").ok());
  sessions.leave("a", "trip");
  EXPECT_TRUE(sessions.enter("a", "trip").ok());
}

TEST(SessionRegistry, removes_what_is_there_and_not_taken) {
  SessionRegistry sessions;
  EXPECT_EQ(sessions.remove("a", "trip").error().code, ErrorCode::kNotFound);
  enter_and_add(sessions, "a", "trip", "output_1");
  ASSERT_TRUE(sessions.enter("a", "trip").ok());
  EXPECT_EQ(sessions.remove("a", "trip").error().code, ErrorCode::kConflict);
  sessions.leave("a", "trip");
  EXPECT_EQ(sessions.remove("a", "trip")->turns.size(), 1u);
  EXPECT_EQ(sessions.find("a", "trip"), nullptr);
}

TEST(SessionRegistry, lists_the_last_used_first) {
  SessionRegistry sessions;
  enter_and_add(sessions, "a", "old", "output_1", kNowUs);
  enter_and_add(sessions, "b", "other", "output_2", kNowUs + 1);
  enter_and_add(sessions, "a", "new", "output_3", kNowUs + 2);
  enter_and_add(sessions, "a", "same", "output_4", kNowUs);
  std::vector<std::string> ids;
  for (const Session* session : sessions.list("a", 10)) ids.push_back(session->id);
  EXPECT_THAT(ids, ::testing::ElementsAre("new", "old", "same"));
  EXPECT_EQ(sessions.list("a", 1).size(), 1u);
  EXPECT_TRUE(sessions.list("c", 10).empty());
}

TEST(SessionRegistry, refuses_what_is_beyond_its_limits) {
  SessionRegistry sessions;
  for (size_t i = 0; i < SessionRegistry::kSessionsMax; ++i) {
    sessions.restore({"s" + std::to_string(i), "a", kNowUs, kNowUs, {}});
  }
  EXPECT_EQ(sessions.enter("a", "one more").error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(sessions.enter("a", "s7").ok());
  EXPECT_TRUE(sessions.enter("b", "one more").ok());
  ASSERT_TRUE(sessions.remove("a", "s8").ok());
  EXPECT_TRUE(sessions.enter("a", "one more").ok());

  Session full = {"full", "b", kNowUs, kNowUs, {}};
  for (size_t i = 0; i < SessionRegistry::kTurnsMax; ++i) {
    full.turns.push_back({static_cast<int64_t>(i), "output"});
  }
  sessions.restore(full);
  const Status refused = sessions.enter("b", "full");
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().field, "session");
}

TEST(SessionRegistry, a_session_from_before_goes_on_counting) {
  SessionRegistry sessions;
  sessions.restore({"trip", "a", 1, 2, {{0, "output_1"}, {4, "output_2"}}});
  enter_and_add(sessions, "a", "trip", "output_3");
  EXPECT_EQ(sessions.find("a", "trip")->turns.back(), (SessionTurn{5, "output_3"}));
  EXPECT_EQ(sessions.find("a", "trip")->created_us, 1);
}

}  // namespace
}  // namespace cascade
