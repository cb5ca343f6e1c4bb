// /v1/status and /v1/events: what is told to whom, and which queries are refused.
#include "wire/openai/status_routes.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace cascade::openai {
namespace {

wire::StatsReply full_stats() {
  wire::StatsReply stats;
  stats.groups.push_back({.tenant = "alice", .kv_bytes = 7});
  stats.cache = wire::CacheStats{.policy = "lru"};
  stats.disk = wire::DiskStats{.pages = 3};
  return stats;
}

TEST(StatusRoutes, the_owner_is_told_all_and_others_what_everybody_may_know) {
  wire::StatusReply status;
  status.model = "demo";
  status.tokens_generated = 42;
  const Json whole = Json::parse(encode_status("local", status, full_stats(), true));
  EXPECT_EQ(whole["status"]["tokens_generated"], 42);
  EXPECT_EQ(whole["stats"]["cache"]["policy"], "lru");
  EXPECT_EQ(whole["stats"]["disk"]["pages"], 3);
  const Json part = Json::parse(encode_status("alice", status, full_stats(), false));
  EXPECT_EQ(part["tenant"], "alice");
  EXPECT_EQ(part["status"]["model"], "demo");
  EXPECT_FALSE(part["status"].contains("tokens_generated"));
  EXPECT_FALSE(part["stats"].contains("cache"));
  EXPECT_FALSE(part["stats"].contains("disk"));
  EXPECT_EQ(part["stats"]["groups"][0]["kv_bytes"], 7);
}

TEST(StatusRoutes, a_query_of_events_is_checked) {
  const auto good = decode_event_list({{"after", "7"}, {"limit", "5"}, {"boot_id", "boot_1"}});
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->after, 7);
  EXPECT_EQ(good->limit, 5);
  EXPECT_EQ(good->boot_id, "boot_1");
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"after", "-1"}, {"after", ""}, {"after", "1.0"}, {"limit", "0"}, {"limit", "1001"}}) {
    const auto bad = decode_event_list({{key, value}});
    ASSERT_FALSE(bad.ok()) << key << "=" << value;
    EXPECT_EQ(bad.error().field, key);
  }
}

TEST(StatusRoutes, events_have_the_fields_of_the_protocol) {
  wire::EventNotice event;
  event.sequence = 9;
  event.kind = EventKind::kRequestFinished;
  event.reason = "stop";
  const Json list = Json::parse(encode_event_list({"boot_1", {event}, 12, true}));
  EXPECT_EQ(list["data"][0]["sequence"], 9);
  EXPECT_EQ(list["data"][0]["kind"], "request_finished");
  EXPECT_EQ(list["data"][0]["reason"], "stop");
  EXPECT_EQ(list["last"], 12);
  EXPECT_EQ(list["gap"], true);
  EXPECT_EQ(list["boot_id"], "boot_1");
}

}  // namespace
}  // namespace cascade::openai
