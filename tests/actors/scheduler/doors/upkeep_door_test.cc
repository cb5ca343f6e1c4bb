// Checks and backups on their way to the store: who may ask, how often, and who is answered.
#include "actors/scheduler/doors/upkeep_door.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/tenant.h"

namespace cascade {
namespace {

class UpkeepDoorTest : public ::testing::Test {
 protected:
  UpkeepDoorTest() { outbox_.connect(Actor::kStore, ""); }

  // The job that the store is given; nullopt if it is given none.
  template <class Job>
  std::optional<uint64_t> job() {
    for (const Outgoing& outgoing : outbox_.take()) {
      if (const auto* found = std::get_if<Job>(&outgoing.envelope.message)) return found->job;
    }
    return std::nullopt;
  }
  // The error of the only message that was sent.
  std::optional<Error> refused() {
    const std::vector<Outgoing> left = outbox_.take();
    EXPECT_EQ(left.size(), 1u);
    if (left.empty()) return std::nullopt;
    const auto* error = std::get_if<wire::ErrorReply>(&left[0].envelope.message);
    if (error == nullptr) return std::nullopt;
    return error->error;
  }
  static wire::FsckReply repaired(const char* where) {
    return {.findings = {{where, "is damaged"}}, .found = 1, .left = 0};
  }

  const Client administrator_ = {kLocalTenant, "1"};
  FakeClock clock_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  Jobs jobs_;
  int rows_removed_ = 0;
  UpkeepDoor door_{jobs_, outbox_, /*keeps_pages=*/true, [this] { ++rows_removed_; }};
};

TEST_F(UpkeepDoorTest, hands_a_check_on_and_answers_it) {
  door_.on(administrator_, {1}, wire::FsckRequest{});
  const auto checking = job<wire::StoreCheck>();
  ASSERT_TRUE(checking.has_value());
  door_.on(wire::StoreChecked{*checking + 1, {}, {}});
  EXPECT_TRUE(outbox_.take().empty()) << "of an earlier life of the store";
  door_.on(wire::StoreChecked{*checking, {}, {}});
  const std::vector<Outgoing> left = outbox_.take();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<wire::FsckReply>(left[0].envelope.message));
  EXPECT_EQ(left[0].envelope.request, wire::RequestId{1});
}

TEST_F(UpkeepDoorTest, has_one_at_a_time) {
  door_.on(administrator_, {1}, wire::BackupRequest{});
  const auto backing_up = job<wire::StoreBackup>();
  ASSERT_TRUE(backing_up.has_value());
  door_.on(administrator_, {2}, wire::FsckRequest{});
  EXPECT_EQ(refused()->code, ErrorCode::kConflict);
  door_.on(wire::StoreBackedUp{*backing_up, Error{ErrorCode::kInternal, "", "no room"}, {}});
  EXPECT_EQ(refused()->message, "no room");
  door_.on(administrator_, {3}, wire::FsckRequest{});
  EXPECT_TRUE(job<wire::StoreCheck>().has_value());
}

TEST_F(UpkeepDoorTest, is_the_administrators_alone) {
  door_.on({"alice", "1"}, {1}, wire::FsckRequest{});
  EXPECT_EQ(refused()->field, "tenant");
}

TEST_F(UpkeepDoorTest, needs_something_on_disk) {
  UpkeepDoor door(jobs_, outbox_, /*keeps_pages=*/false, {});
  door.on(administrator_, {1}, wire::FsckRequest{});
  EXPECT_EQ(refused()->field, "state_dir");
}

TEST_F(UpkeepDoorTest, tells_of_rows_that_a_repair_removed) {
  door_.on(administrator_, {1}, wire::FsckRequest{});
  wire::StoreChecked checked{*job<wire::StoreCheck>(), {}, repaired("kv file 7")};
  door_.on(std::move(checked));
  EXPECT_EQ(rows_removed_, 0) << "of a page";
  outbox_.take();
  door_.on(administrator_, {2}, wire::FsckRequest{});
  checked = {*job<wire::StoreCheck>(), {}, repaired("chunk chunk_1")};
  door_.on(std::move(checked));
  EXPECT_EQ(rows_removed_, 1);
}

TEST_F(UpkeepDoorTest, answers_whoever_waits_when_the_store_is_restarted_or_the_daemon_stops) {
  door_.on(administrator_, {1}, wire::FsckRequest{});
  outbox_.take();
  EXPECT_FALSE(jobs_.owes(Actor::kStore)) << "it may take long";
  jobs_.lose(Actor::kStore);
  EXPECT_EQ(refused()->message, "the store was restarted; try again");
  door_.on(administrator_, {2}, wire::FsckRequest{});
  outbox_.take();
  door_.stop();
  EXPECT_EQ(refused()->message, "the daemon is stopping");
  door_.on(administrator_, {3}, wire::FsckRequest{});
  EXPECT_EQ(refused()->code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace cascade
