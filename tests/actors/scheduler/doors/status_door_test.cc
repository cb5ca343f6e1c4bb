// What the daemon tells clients about itself.
#include "actors/scheduler/doors/status_door.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/tenant.h"
#include "cache/chain_key.h"
#include "tests/actors/scheduler/keep/keep_test.h"
#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

class StatusDoorTest : public testing::KeepTest {
 protected:
  StatusDoorTest() {
    options_.keep_pages = true;
    options_.version = "1.2.3";
  }
  wire::StatusReply status(const Client& client) {
    door_.on(client, {1}, wire::StatusRequest{});
    return take<wire::StatusReply>().at(0);
  }
  wire::StatsReply stats(const Client& client) {
    door_.on(client, {1}, wire::StatsRequest{});
    return take<wire::StatsReply>().at(0);
  }
  // A request of the client that is tokenized.
  Request& request_of(const Client& client) {
    auto request = std::make_unique<Request>();
    request->handle = requests_.next_handle();
    request->client = client;
    request->id = {static_cast<uint8_t>(request->handle)};
    return requests_.add(std::move(request));
  }

  const Client admin_ = {std::string(kLocalTenant), "1", Door::kIpc};
  const Client alice_client_ = {"alice", "1", Door::kIpc};
  SchedulerOptions options_;
  std::optional<int64_t> stopping_since_us_;
  RequestAdmission admission_{{}, 1, clock_, speed_, outbox_};
  Counters counters_;
  PageSpills spills_ = spills_of(memory_.pool.page_count(), speed_, requests_);
  DiskRoom disk_room_{options_.disk, stored_, spills_, memory_.index, tenants_};
  StatusDoor door_{{options_,       stopping_since_us_,
                    clock_,         testing::demo_model(),
                    memory_.arena,  memory_.pool,
                    memory_.index,  tenants_,
                    registry_,      requests_,
                    admission_,     idle_,
                    speed_,         counters_,
                    metadata_,      loader_,
                    writer_,        stored_,
                    disk_room_,     states_,
                    stored_states_, restores_,
                    keep_,          outbox_}};
};

TEST_F(StatusDoorTest, says_how_long_the_daemon_has_served_and_whether_it_stops) {
  clock_.advance_us(5);
  EXPECT_EQ(status(admin_).uptime_us, 5);
  EXPECT_EQ(status(admin_).version, "1.2.3");
  EXPECT_EQ(status(admin_).state, "serving");
  stopping_since_us_ = clock_.monotonic_us();
  EXPECT_EQ(status(admin_).state, "stopping");
}

TEST_F(StatusDoorTest, a_tenant_is_told_of_its_own_and_the_administrator_of_all) {
  held_output("a", 3);
  request_of(alice_client_);
  requests_.wait(request_of(alice_client_));
  Request& running = request_of({"bob", "1", Door::kIpc});
  requests_.wait(running);
  requests_.start(running);
  requests_.wait(request_of({"bob", "1", Door::kIpc}));
  counters_.done = 7;
  EXPECT_EQ(status(admin_).requests_waiting, 3);
  EXPECT_EQ(status(admin_).requests_running, 1);
  EXPECT_EQ(status(admin_).requests_done, 7);
  EXPECT_EQ(status(admin_).chunks_output, 1);
  EXPECT_EQ(status(admin_).kv_pages_used, 3);
  const wire::StatusReply alice = status(alice_client_);
  EXPECT_EQ(alice.requests_waiting, 2);
  EXPECT_EQ(alice.requests_running, 0);
  EXPECT_EQ(alice.requests_done, 0);
  EXPECT_EQ(alice.chunks_output, 1);
  EXPECT_EQ(alice.kv_pages_used, 3);
  const wire::StatusReply bob = status({"bob", "1", Door::kIpc});
  EXPECT_EQ(bob.requests_waiting, 1);
  EXPECT_EQ(bob.requests_running, 1);
  EXPECT_EQ(bob.chunks_output, 0);
  EXPECT_EQ(bob.kv_pages_used, 0);
}

TEST_F(StatusDoorTest, only_the_administrator_is_told_of_the_cache_and_the_disk) {
  held_output("a", 3);
  EXPECT_TRUE(stats(admin_).cache);
  EXPECT_TRUE(stats(admin_).disk);
  EXPECT_FALSE(stats(alice_client_).cache);
  EXPECT_FALSE(stats(alice_client_).disk);
  EXPECT_EQ(stats(alice_client_).pages_of_tenant, 3);
  options_.keep_pages = false;
  EXPECT_FALSE(stats(admin_).disk);
}

TEST_F(StatusDoorTest, says_how_long_a_prompt_may_be_in_memory_or_on_disk) {
  const auto in_memory = static_cast<int64_t>(memory_.pool.page_count()) * kPageTokens;
  options_.disk.page_bytes = 1000;
  options_.disk.bytes_max = 100'000;
  stored_.add(chain_key({}, nullptr, std::vector<int32_t>{1}), {}, 1);
  const wire::StatusReply all = status(admin_);
  EXPECT_EQ(all.kv_disk_bytes, 1000);
  EXPECT_EQ(all.kv_disk_bytes_max, 100'000);
  EXPECT_GT(100 * kPageTokens, in_memory);
  EXPECT_EQ(all.sequence_tokens_max, 100 * kPageTokens);
  EXPECT_FALSE(status(alice_client_).kv_disk_bytes);
  EXPECT_EQ(status(alice_client_).sequence_tokens_max, 0);
  options_.disk.bytes_max = 5'000;
  EXPECT_EQ(status(admin_).sequence_tokens_max, in_memory);
  options_.disk.bytes_max = 1'000'000'000;
  EXPECT_EQ(status(admin_).sequence_tokens_max, status(admin_).context_tokens_max);
  options_.keep_pages = false;
  EXPECT_FALSE(status(admin_).kv_disk_bytes);
}

TEST_F(StatusDoorTest, chunks_are_counted_by_tenant_and_type_and_their_pages_once) {
  ChunkEntry& first = held_output("a", 3);
  ChunkEntry& second = output("b", 3);
  second.chain = first.chain;
  holds_.take(second);
  add("c", ChunkType::kContext);
  Chunk of_bob;
  of_bob.id = "d";
  of_bob.tenant = "bob";
  of_bob.type = ChunkType::kContext;
  of_bob.text = "bob's";
  of_bob.content_hash = "d";
  of_bob.holders.push_back({.kind = HolderKind::kRetention, .label = ""});
  ASSERT_TRUE(registry_.add(std::move(of_bob)).ok());
  const wire::StatsReply all = stats(admin_);
  ASSERT_EQ(all.groups.size(), 3u);
  const auto outputs = std::ranges::find(all.groups, ChunkType::kOutput, &wire::ChunkGroup::type);
  ASSERT_NE(outputs, all.groups.end());
  EXPECT_EQ(outputs->tenant, "alice");
  EXPECT_EQ(outputs->chunks, 2);
  EXPECT_EQ(outputs->kv_bytes, 2 * memory_.arena.page_bytes())
      << "the two outputs share the pages after their prompt";
  EXPECT_EQ(all.cache->chunk_bytes, outputs->kv_bytes);
  const wire::StatsReply bob = stats({"bob", "1", Door::kIpc});
  ASSERT_EQ(bob.groups.size(), 1u);
  EXPECT_EQ(bob.groups[0].tenant, "bob");
}

TEST_F(StatusDoorTest, warns_when_the_store_cannot_write) {
  EXPECT_TRUE(status(admin_).warnings.empty());
  ChunkEntry& entry = held_output("a", 2);
  metadata_.put(entry.chunk);
  const Error full = {ErrorCode::kInternal, "", "the disk is full"};
  metadata_.on(wire::StoreAck{take<wire::StorePut>().at(0).job, full});
  chains_.keep(entry);
  write_all(full);
  const auto warnings = status(admin_).warnings;
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("the latest changes of 1 chunks"), std::string::npos);
  EXPECT_NE(warnings[1].find("K and V are not written to disk"), std::string::npos);
  EXPECT_TRUE(status(alice_client_).warnings.empty());
}

TEST_F(StatusDoorTest, tells_each_tenant_its_events) {
  outbox_.tell_of(add("a", ChunkType::kContext).chunk, EventKind::kChunkStored);
  door_.on(alice_client_, {1}, wire::EventsRequest{});
  EXPECT_EQ(take<wire::EventsReply>().at(0).events.size(), 1u);
  door_.on({"bob", "1", Door::kIpc}, {1}, wire::EventsRequest{});
  EXPECT_TRUE(take<wire::EventsReply>().at(0).events.empty());
}

}  // namespace
}  // namespace cascade
