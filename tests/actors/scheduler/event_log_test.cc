// The numbers of events, which events are kept, and what is said of the others.
#include "actors/scheduler/event_log.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

wire::EventNotice event(const std::string& id) {
  wire::EventNotice notice;
  notice.id = id;
  return notice;
}

std::string ids_of(const wire::EventsReply& reply) {
  std::string ids = reply.gap ? "gap " : "";
  for (const wire::EventNotice& notice : reply.events) ids += notice.id;
  return ids + "/" + std::to_string(reply.last);
}

wire::EventsReply read(const EventLog& log, int64_t after, int32_t limit = 1000,
                       const std::string& boot = "") {
  return log.read("local", {after, boot, limit}, "boot_1");
}

TEST(EventLog, of_nothing_is_empty) {
  const EventLog log(3);
  EXPECT_EQ(ids_of(read(log, 0)), "/0");
  EXPECT_EQ(read(log, 0).boot_id, "boot_1");
  EXPECT_EQ(ids_of(read(log, 1)), "gap /0");
}

TEST(EventLog, numbers_events_of_each_tenant_from_one_on) {
  EventLog log(3);
  EXPECT_EQ(log.add("local", event("a")).sequence, 1);
  EXPECT_EQ(log.add("local", event("b")).sequence, 2);
  EXPECT_EQ(log.add("other", event("c")).sequence, 1);
  EXPECT_EQ(ids_of(read(log, 0)), "ab/2");
  EXPECT_EQ(ids_of(log.read("other", {}, "boot_1")), "c/1");
}

TEST(EventLog, gives_what_comes_behind_a_number_and_says_what_is_gone) {
  EventLog log(3);
  for (const char* id : {"a", "b", "c", "d", "e"}) log.add("local", event(id));
  EXPECT_EQ(ids_of(read(log, 2)), "cde/5");
  EXPECT_EQ(ids_of(read(log, 4)), "e/5");
  EXPECT_EQ(ids_of(read(log, 5)), "/5");
  EXPECT_EQ(ids_of(read(log, 1)), "gap cde/5");
  EXPECT_EQ(ids_of(read(log, 0)), "gap cde/5");
  EXPECT_EQ(ids_of(read(log, 6)), "gap cde/5");
  EXPECT_EQ(ids_of(read(log, INT64_MAX)), "gap cde/5");
}

TEST(EventLog, gives_at_most_as_many_as_asked_for) {
  EventLog log(9);
  for (const char* id : {"a", "b", "c", "d"}) log.add("local", event(id));
  EXPECT_EQ(ids_of(read(log, 1, 2)), "bc/4");
  EXPECT_EQ(ids_of(read(log, 3, 2)), "d/4");
}

TEST(EventLog, of_another_boot_nothing_is_known) {
  EventLog log(9);
  for (const char* id : {"a", "b"}) log.add("local", event(id));
  EXPECT_EQ(ids_of(read(log, 1, 1000, "boot_1")), "b/2");
  EXPECT_EQ(ids_of(read(log, 1, 1000, "boot_0")), "gap ab/2");
}

}  // namespace
}  // namespace cascade
