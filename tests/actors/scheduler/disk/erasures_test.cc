// Which clients wait for removals, and what they are told.
#include "actors/scheduler/disk/erasures.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace cascade {
namespace {

const StoredName kA = {"local", "output_a"};
const StoredName kB = {"local", "output_b"};

ErasureReply reply_of(std::set<StoredName> chunks, const std::string& route) {
  return {std::move(chunks), {}, {"local", route}, {}, wire::Ack{}};
}

TEST(Erasures, who_waits_for_several_is_ready_with_the_last) {
  Erasures erasures;
  erasures.begin(kA, Removal::kDeleted);
  erasures.begin(kB, Removal::kDeleted);
  ErasureReply both = reply_of({kA, kB}, "both");
  ErasureReply one = reply_of({kA}, "one");
  ASSERT_TRUE(erasures.wait(both));
  ASSERT_TRUE(erasures.wait(one));
  const auto first = erasures.end(kA).replies;
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].client.name, "one");
  const auto second = erasures.end(kB).replies;
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].client.name, "both");
  EXPECT_TRUE(erasures.empty());
}

TEST(Erasures, nobody_waits_for_what_is_gone) {
  Erasures erasures;
  ErasureReply reply = reply_of({kA}, "late");
  EXPECT_FALSE(erasures.wait(reply));
  EXPECT_EQ(reply.client.name, "late");  // still the caller's
}

TEST(Erasures, a_failure_is_told_to_all_who_wait_and_to_who_asks_again_later) {
  Erasures erasures;
  erasures.begin(kA, Removal::kDeleted);
  erasures.begin(kB, Removal::kExpired);
  ErasureReply both = reply_of({kA, kB}, "both");
  ASSERT_TRUE(erasures.wait(both));
  EXPECT_EQ(erasures.fail(kA, {ErrorCode::kIo, "kv", "broken"}).size(), 1u);
  ASSERT_NE(erasures.find(kA), nullptr);
  EXPECT_TRUE(erasures.find(kA)->error.has_value());
  EXPECT_FALSE(erasures.find(kB)->error.has_value());
  EXPECT_TRUE(erasures.end(kB).replies.empty());
  ErasureReply again = reply_of({kA}, "again");
  ASSERT_TRUE(erasures.wait(again));
  const auto ready = erasures.end(kA).replies;
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].client.name, "again");
}

TEST(Erasures, a_session_is_removed_after_its_last_output_even_if_one_failed_first) {
  const StoredName session = {"local", "trip", StoredKind::kSession};
  Erasures erasures;
  EXPECT_FALSE(erasures.remove_after(session, {kA, kB})) << "both are gone";
  erasures.begin(kA, Removal::kDeleted);
  erasures.begin(kB, Removal::kDeleted);
  ASSERT_TRUE(erasures.remove_after(session, {kA, kB}));
  erasures.fail(kA, {ErrorCode::kIo, "kv", "broken"});
  EXPECT_TRUE(erasures.end(kB).sessions.empty());
  const auto removed = erasures.end(kA).sessions;
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_EQ(removed[0], session);
}

}  // namespace
}  // namespace cascade
