// Beginnings of prompts that the daemon keeps for clients.
#include "actors/scheduler/doors/prefix_door.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/actors/scheduler/room_test.h"

namespace cascade {
namespace {

using testing::count_up;

class PrefixDoorTest : public testing::RoomTest {
 protected:
  // Computes a prefix of two pages, and keeps it for the client.
  PrefixName keep(const std::string& id, const Client& client, int32_t first_token = 0) {
    Request request;
    request.prompt = count_up(first_token, 2 * kPageTokens);
    request.texts = {{.chunk = {client.tenant, "book"}, .where = {}}};
    compute(request.prompt, tenants_.id(client.tenant));
    const PrefixName name = {client.tenant, id};
    EXPECT_TRUE(door_.keep(name, tenants_.id(client.tenant), request).ok());
    door_.attach(name, client);
    return name;
  }
  std::optional<wire::PrefixReply> attach(const std::string& id, const Client& client) {
    door_.on(client, {1}, wire::PrefixAttach{id});
    return reply();
  }
  std::optional<wire::PrefixReply> release(const std::string& id, const Client& client) {
    door_.on(client, {1}, wire::PrefixRelease{id});
    return reply();
  }
  // The last answer; nullopt: it was an error.
  std::optional<wire::PrefixReply> reply() {
    const auto replies = take<wire::PrefixReply>();
    if (replies.empty()) return std::nullopt;
    return replies.back();
  }
  size_t pages_pinned() const { return memory_.index.pinned_count(); }

  static constexpr int kPrefixesMax = 2;
  const Client one_ = {"alice", "1", Door::kIpc};
  const Client two_ = {"alice", "2", Door::kIpc};
  const Client bob_ = {"bob", "1", Door::kIpc};
  PrefixDoor door_{outbox_, memory_.index, kPrefixesMax};
};

TEST_F(PrefixDoorTest, a_prefix_is_kept_until_its_last_reference_is_released) {
  keep("p", one_);
  const auto attached = attach("p", two_);
  ASSERT_TRUE(attached);
  EXPECT_EQ(attached->id, "p");
  EXPECT_EQ(attached->tokens, 2 * kPageTokens);
  EXPECT_EQ(attached->references, 2);
  EXPECT_EQ(attach("p", two_)->references, 3);
  EXPECT_EQ(release("p", one_)->references, 2);
  EXPECT_FALSE(release("p", one_)) << "this connection has none any more";
  release("p", two_);
  EXPECT_EQ(pages_pinned(), 2u);
  EXPECT_EQ(release("p", two_)->references, 0);
  EXPECT_EQ(pages_pinned(), 0u);
  EXPECT_FALSE(attach("p", one_));
}

TEST_F(PrefixDoorTest, the_references_of_a_connection_end_with_it) {
  keep("p", one_);
  keep("q", one_, 10'000);
  attach("q", two_);
  door_.release_all(one_);
  EXPECT_FALSE(door_.contains({"alice", "p"}));
  EXPECT_TRUE(door_.contains({"alice", "q"}));
  EXPECT_EQ(pages_pinned(), 2u);
}

TEST_F(PrefixDoorTest, a_prefix_belongs_to_its_tenant) {
  keep("p", one_);
  EXPECT_FALSE(attach("p", bob_));
  EXPECT_FALSE(release("p", bob_));
  EXPECT_TRUE(attach("p", two_));
}

TEST_F(PrefixDoorTest, the_same_tokens_of_the_same_tenant_are_the_same_prefix) {
  Request request;
  request.client = one_;
  request.prompt = count_up(0, 10);
  const PrefixName name = PrefixDoor::name_of(request);
  request.client = two_;
  EXPECT_EQ(PrefixDoor::name_of(request), name);
  request.client = bob_;
  EXPECT_NE(PrefixDoor::name_of(request).second, name.second) << "what bob has says nothing";
  request.client = one_;
  request.prompt.push_back(10);
  EXPECT_NE(PrefixDoor::name_of(request), name);
}

TEST_F(PrefixDoorTest, no_prefix_keeps_a_text_that_is_gone) {
  keep("p", one_);
  door_.drop_with({"alice", "another"});
  EXPECT_TRUE(door_.contains({"alice", "p"}));
  door_.drop_with({"alice", "book"});
  EXPECT_FALSE(door_.contains({"alice", "p"}));
  EXPECT_EQ(pages_pinned(), 0u);
}

TEST_F(PrefixDoorTest, a_prefix_that_is_not_in_memory_is_refused) {
  Request request;
  request.prompt = count_up(0, 10);
  const Status kept = door_.keep({"alice", "p"}, tenants_.id("alice"), request);
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().field, "prefix");
  EXPECT_FALSE(door_.contains({"alice", "p"}));
}

TEST_F(PrefixDoorTest, no_more_than_the_limit_are_kept_and_each_tenant_has_a_part) {
  EXPECT_TRUE(door_.find_place("alice").ok());
  keep("p", one_);
  keep("q", one_, 10'000);
  const Status full = door_.find_place("alice");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().field, "prefix");
  EXPECT_NE(full.error().message.find("2 prefixes"), std::string::npos);
  EXPECT_TRUE(door_.find_place("bob").ok());
}

}  // namespace
}  // namespace cascade
