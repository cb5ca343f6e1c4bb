// Pages as the scheduler has them written: what is in them, and how often.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/kv_page.h"
#include "tests/actors/scheduler_world.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::ask;
using testing::kStateDir;
using testing::query_text;
using testing::SchedulerWorld;

class StoredPages : public ::testing::Test {
 protected:
  void TearDown() override {
    world_.reset();
    store_.reset();
  }
  // A daemon whose files have room for `disk_pages` pages, or one more.
  void start(uint64_t disk_pages) {
    StoreOptions options;
    options.kv.disk_bytes_max = disk_pages * (SchedulerWorld::page_bytes() + 8192);
    auto opened = Store::open(disk_, kStateDir, options);
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    store_ = *std::move(opened);
    SchedulerOptions scheduler;
    scheduler.keep_pages = true;
    world_ = std::make_unique<SchedulerWorld>(scheduler, SchedulerWorld::kPages, store_.get());
  }
  std::string output_of(const std::string& question) {
    wire::GenerateRequest request = ask({query_text(question)});
    request.retain_output = true;
    return world_->one<wire::Final>(world_->send(request)).output_chunk_id;
  }
  int64_t pages_written() {
    return world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{}))
        .disk.value_or(wire::DiskStats{})
        .pages_written;
  }

  testing::MemoryDisk disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SchedulerWorld> world_;
};

// A short page has no K and V of other texts, even if it was copied from a page with them or held
// them before.
TEST_F(StoredPages, that_are_short_have_nothing_but_their_tokens) {
  start(1000);
  output_of("What is the capital of France, and of Italy, and of Spain?");
  output_of("What?");
  output_of("Why?");
  int short_pages = 0;
  const auto models = store_->kv().models();
  ASSERT_TRUE(models.ok());
  for (const ModelRecord& model : *models) {
    const auto pages = store_->kv().pages(model.digest);
    ASSERT_TRUE(pages.ok());
    for (const StoredPage& page : *pages) {
      const std::vector<int32_t>& ids = page.header.token_ids;
      if (ids.size() == kPageTokens) continue;
      ++short_pages;
      std::vector<uint8_t> bytes(SchedulerWorld::page_bytes());
      const PageRead read = {page.header.key, ids, bytes.data()};
      ASSERT_EQ(store_->kv().read(bytes.size(), {&read, 1}).good, 1u);
      std::vector<uint8_t> cleared = bytes;
      clear_slots(testing::demo_model().kv_layout, static_cast<int>(ids.size()), cleared.data());
      EXPECT_EQ(bytes, cleared) << ids.size();
    }
  }
  EXPECT_GE(short_pages, 3);
}

// The pages of one chain must not evict each other for ever, one run after the other.
TEST_F(StoredPages, of_a_chain_that_the_budget_has_no_room_for_are_given_up) {
  start(18);
  std::string question = "Tell me of";
  for (int i = 0; i < 250; ++i) question += " town " + std::to_string(i);
  const std::string id = output_of(question + "?");
  ASSERT_GT(world_->chunk(id).kv_tokens, 18 * kPageTokens);
  const int64_t written = pages_written();
  EXPECT_LE(written, 20);
  for (int i = 0; i < 10; ++i) {
    world_->clock.advance_us(3'000'000);
    world_->core().on_tick();
    world_->pump();
  }
  EXPECT_EQ(pages_written(), written);
}

}  // namespace
}  // namespace cascade
