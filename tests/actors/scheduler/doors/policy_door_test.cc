// Expiry policies of tenants.
#include "actors/scheduler/doors/policy_door.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "wire/request_rules.h"

namespace cascade {
namespace {

class PolicyDoorTest : public ::testing::Test {
 protected:
  PolicyDoorTest() { outbox_.connect(Actor::kStore, ""); }

  // The key and the value that the store was given last.
  std::string stored() {
    std::string last;
    for (const Outgoing& outgoing : outbox_.take()) {
      const auto* policy = std::get_if<wire::StorePolicy>(&outgoing.envelope.message);
      if (policy != nullptr) last = policy->key + "=" + policy->value;
    }
    return last;
  }
  int64_t in_ms(int64_t ms) const { return clock_.wall_us() + ms * 1000; }

  const Client alice_ = {"alice", "1"};
  FakeClock clock_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  Jobs jobs_;
  MetadataWriter metadata_{clock_,
                           jobs_,
                           outbox_,
                           "model",
                           [](const StoredName&) {},
                           [](const StoredName&, const std::optional<Error>&) {}};
  PolicyDoor door_{clock_, outbox_, metadata_};
};

TEST_F(PolicyDoorTest, sets_when_chunks_of_a_type_expire) {
  EXPECT_EQ(door_.expiry_us("alice", ChunkType::kOutput), 0);
  door_.on(alice_, {1}, wire::PolicySet{ChunkType::kOutput, 3000});
  EXPECT_EQ(door_.expiry_us("alice", ChunkType::kOutput), in_ms(3000));
  EXPECT_EQ(door_.expiry_us("alice", ChunkType::kContext), 0);
  EXPECT_EQ(door_.expiry_us("bob", ChunkType::kOutput), 0);
  const std::string row = stored();
  EXPECT_TRUE(row.starts_with("ttl_ms.") && row.ends_with("=3000")) << row;
  door_.on(alice_, {2}, wire::PolicySet{ChunkType::kOutput, 0});
  EXPECT_EQ(door_.expiry_us("alice", ChunkType::kOutput), 0);
  EXPECT_TRUE(stored().ends_with("=")) << "there is none any more";
}

TEST_F(PolicyDoorTest, answers_when_the_policy_is_durable) {
  door_.on(alice_, {1}, wire::PolicySet{ChunkType::kOutput, 3000});
  const std::vector<Outgoing> before = outbox_.take();
  ASSERT_EQ(before.size(), 1u);
  metadata_.on({std::get<wire::StorePolicy>(before[0].envelope.message).job, {}});
  const std::vector<Outgoing> after = outbox_.take();
  ASSERT_EQ(after.size(), 1u);
  const auto& reply = std::get<wire::PolicyReply>(after[0].envelope.message);
  EXPECT_TRUE(reply.durable);
  ASSERT_EQ(reply.policies.size(), 1u);
  EXPECT_EQ(reply.policies[0].ttl_ms, 3000);
}

TEST_F(PolicyDoorTest, takes_back_what_was_stored) {
  door_.on(alice_, {1}, wire::PolicySet{ChunkType::kOutput, 3000});
  const std::string row = stored();
  const std::string key = row.substr(0, row.find('='));
  door_.restore({"bob", key, "5000"});
  EXPECT_EQ(door_.expiry_us("bob", ChunkType::kOutput), in_ms(5000));
  const std::string too_long = std::to_string(wire::kDurationMsMax + 1);
  for (const std::string& value : {std::string("0"), std::string("-1"), std::string("5s"),
                                   std::string(), too_long, "9" + too_long}) {
    door_.restore({"carol", key, value});
    EXPECT_EQ(door_.expiry_us("carol", ChunkType::kOutput), 0) << value;
  }
  door_.restore({"carol", "ttl_ms.nothing", "5000"});
  EXPECT_EQ(door_.expiry_us("carol", ChunkType::kOutput), 0);
}

TEST_F(PolicyDoorTest, stores_a_policy_again) {
  door_.on(alice_, {1}, wire::PolicySet{ChunkType::kOutput, 3000});
  const std::string row = stored();
  door_.store({"alice", row.substr(0, row.find('=')), StoredKind::kPolicy});
  EXPECT_EQ(stored(), row);
}

}  // namespace
}  // namespace cascade
