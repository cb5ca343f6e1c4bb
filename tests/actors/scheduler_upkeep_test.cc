// Checks and backups of the store while the scheduler works: who may ask for them, that only one
// runs at a time, and what the scheduler learns from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/actors/durable_test.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::ask;
using ::testing::HasSubstr;
using testing::kStateDir;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

constexpr char kKvFile[] = "/state/kv/00000001.kv";

class Upkeep : public testing::DurableTest {
 protected:
  Upkeep() : DurableTest(testing::keeping_pages()) {}

  wire::Final generate(const std::string& question) {
    wire::GenerateRequest request = ask({system_text("Be brief."), query_text(question)});
    request.retain_output = true;
    request.reuse = false;
    return world_->one<wire::Final>(world_->send(request));
  }
  void finish() {
    while (world_->idle_store()) {
    }
  }
  wire::FsckReply fsck(bool repair = false) {
    const uint64_t number = world_->send(wire::FsckRequest{repair, ""});
    finish();
    return world_->one<wire::FsckReply>(number);
  }
  int64_t pages_on_disk() {
    return world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{})).disk->pages;
  }
};

TEST_F(Upkeep, of_a_healthy_store_finds_nothing_and_says_what_was_read) {
  generate("Capital of France?");
  const wire::FsckReply reply = fsck();
  EXPECT_EQ(reply.found, 0);
  EXPECT_EQ(reply.left, 0);
  EXPECT_EQ(reply.pages, pages_on_disk());
  EXPECT_GE(reply.bytes, reply.pages * static_cast<int64_t>(SchedulerWorld::page_bytes()));
}

TEST_F(Upkeep, generation_and_changes_go_on_meanwhile) {
  generate("Capital of France?");
  const uint64_t number = world_->send(wire::FsckRequest{});
  EXPECT_TRUE(world_->all<wire::FsckReply>(number).empty());
  // Each of the store's next batches does a part of the check.
  EXPECT_FALSE(generate("And of Italy?").text.empty());
  const auto put = world_->one<wire::ChunkReply>(
      world_->send(wire::ChunkPut{ChunkType::kContext, "Ana likes plums."}));
  EXPECT_TRUE(put.durable);
  finish();
  EXPECT_EQ(world_->one<wire::FsckReply>(number).found, 0);
}

TEST_F(Upkeep, a_repair_is_told_to_the_scheduler) {
  const wire::Final first = generate("Capital of France?");
  const int64_t pages = pages_on_disk();
  ASSERT_GT(pages, 0);
  disk_.bytes(kKvFile)[4096 + 4096 + 100] ^= 1;
  const wire::FsckReply report = fsck();
  EXPECT_EQ(report.found, 1);
  EXPECT_EQ(report.left, 1);
  EXPECT_FALSE(report.findings.at(0).repaired);
  EXPECT_EQ(pages_on_disk(), pages);
  const wire::FsckReply repair = fsck(true);
  EXPECT_EQ(repair.found, 1);
  EXPECT_EQ(repair.left, 0);
  EXPECT_TRUE(repair.findings.at(0).repaired);
  EXPECT_THAT(repair.findings.at(0).where, HasSubstr("kv file 1"));
  EXPECT_EQ(pages_on_disk(), pages - 1);
  EXPECT_EQ(world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{})).disk->pages_bad, 1);
  EXPECT_EQ(fsck().found, 0);
  EXPECT_EQ(generate("Capital of France?").token_ids, first.token_ids);
}

TEST_F(Upkeep, chunks_whose_rows_a_repair_removed_are_stored_again) {
  const std::string id = generate("Capital of France?").output_chunk_id;
  ASSERT_TRUE(
      store_->database()
          .change([&] { return store_->database().execute("UPDATE chunks SET text='forged'"); })
          .ok());
  ASSERT_TRUE(store_->commit().ok());
  const wire::FsckReply repair = fsck(true);
  EXPECT_GT(repair.found, 0);
  EXPECT_EQ(repair.left, 0);
  world_->clock.advance_us(3'000'000);
  world_->core().on_tick();
  world_->pump();
  const auto stored = store_->load();
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->size(), 2u);  // and the system prompt
  EXPECT_EQ(stored->back().id, id);
  EXPECT_EQ(fsck().found, 0);
}

TEST_F(Upkeep, there_is_one_at_a_time) {
  const uint64_t first = world_->send(wire::FsckRequest{});
  const Error second = world_->error(world_->send(wire::BackupRequest{"/copy", ""}));
  EXPECT_EQ(second.code, ErrorCode::kConflict);
  EXPECT_THAT(second.message, HasSubstr("is under way"));
  finish();
  world_->one<wire::FsckReply>(first);
  const uint64_t third = world_->send(wire::BackupRequest{"/copy", ""});
  finish();
  world_->one<wire::BackupReply>(third);
}

TEST_F(Upkeep, is_for_the_administrator) {
  const Error error = world_->error(world_->send_as("alice", wire::FsckRequest{}));
  EXPECT_EQ(error.code, ErrorCode::kConflict);
  EXPECT_EQ(error.field, "tenant");
  EXPECT_EQ(world_->error(world_->send_as("alice", wire::BackupRequest{"/copy", ""})).field,
            "tenant");
  SchedulerWorld keeps_nothing;
  EXPECT_EQ(keeps_nothing.error(keeps_nothing.send(wire::FsckRequest{})).code,
            ErrorCode::kUnsupported);
}

TEST_F(Upkeep, a_backup_has_everything_in_it) {
  const wire::Final first = generate("Capital of France?");
  const uint64_t number = world_->send(wire::BackupRequest{"/copy", ""});
  EXPECT_FALSE(generate("And of Italy?").text.empty());
  finish();
  const auto reply = world_->one<wire::BackupReply>(number);
  EXPECT_GT(reply.pages, 0);
  EXPECT_EQ(reply.pages_bad, 0);
  const auto copy = Store::open(disk_, "/copy");
  ASSERT_TRUE(copy.ok()) << copy.error().to_string();
  const auto chunks = (*copy)->load();
  ASSERT_TRUE(chunks.ok());
  const auto is_first = [&](const Chunk& chunk) { return chunk.id == first.output_chunk_id; };
  EXPECT_TRUE(std::ranges::any_of(*chunks, is_first));
  EXPECT_TRUE((*copy)->findings().empty());
}

TEST_F(Upkeep, a_backup_to_a_folder_with_something_in_it_is_refused) {
  const Error error = world_->error(world_->send(wire::BackupRequest{kStateDir, ""}));
  EXPECT_EQ(error.code, ErrorCode::kConflict);
  EXPECT_THAT(error.message, HasSubstr("is not empty"));
  // The refused backup is not under way.
  EXPECT_EQ(fsck().found, 0);
}

TEST_F(Upkeep, of_another_state_directory_is_refused) {
  ASSERT_EQ(disk_.make_folder("/other"), 0);
  const Error other = world_->error(world_->send(wire::FsckRequest{false, "/other"}));
  EXPECT_EQ(other.code, ErrorCode::kConflict);
  EXPECT_THAT(other.message, HasSubstr(kStateDir));
  EXPECT_EQ(world_->error(world_->send(wire::FsckRequest{false, "/none"})).field, "state_dir");
  const uint64_t own = world_->send(wire::FsckRequest{false, kStateDir});
  finish();
  world_->one<wire::FsckReply>(own);
}

TEST_F(Upkeep, ends_with_the_store_and_with_the_daemon) {
  world_->store_at_once = false;
  const uint64_t first = world_->post(wire::FsckRequest{});
  world_->restart(testing::Actor::kStore);
  EXPECT_EQ(world_->error(first).code, ErrorCode::kUnavailable);
  const uint64_t second = world_->post(wire::FsckRequest{});
  world_->core().stop();
  world_->pump();
  EXPECT_EQ(world_->error(second).code, ErrorCode::kUnavailable);
  EXPECT_TRUE(world_->core().stopped());
  EXPECT_EQ(world_->error(world_->send(wire::FsckRequest{})).code, ErrorCode::kUnavailable);
}

TEST_F(Upkeep, a_disk_that_fails_is_an_error_of_the_backup_only) {
  generate("Capital of France?");
  disk_.set_capacity(1);
  const uint64_t number = world_->send(wire::BackupRequest{"/copy", ""});
  finish();
  EXPECT_EQ(world_->error(number).code, ErrorCode::kResourceExhausted);
  disk_.set_capacity(uint64_t{1} << 40);
  EXPECT_EQ(fsck().found, 0);
}

}  // namespace
}  // namespace cascade
