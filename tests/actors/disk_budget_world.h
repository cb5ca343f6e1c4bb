// A daemon whose files and memory have room for a given number of pages. Its disk outlives it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/actors/scheduler_world.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade::testing {

class DiskBudgetWorld : public ::testing::Test {
 protected:
  void TearDown() override { stop(); }
  // Stops the daemon as kill -9 does.
  void stop() {
    world_.reset();
    disk_.kill();
    store_.reset();
  }
  // Starts a daemon after stopping the one before.
  void start(int64_t disk_pages, size_t memory_pages = SchedulerWorld::kPages,
             double max_pinned = 0.5) {
    stop();
    StoreOptions options = test_options();
    options.kv.file_bytes_max = uint64_t{1} << 30;
    const auto record = static_cast<int64_t>((SchedulerWorld::page_bytes() + 4095) / 4096 + 1);
    options.kv.disk_bytes_max = static_cast<uint64_t>((disk_pages * record + 1) * 4096);
    options.rebuild = std::exchange(rebuild_, false);
    auto opened = Store::open(disk_, kStateDir, options);
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    store_ = *std::move(opened);
    SchedulerOptions scheduler;
    scheduler.keep_pages = true;
    scheduler.max_pinned = max_pinned;
    scheduler.disk = disk_limits_;
    world_ = std::make_unique<SchedulerWorld>(scheduler, memory_pages, store_.get());
  }
  void tick(int64_t us) {
    world_->clock.advance_us(us);
    world_->core().on_tick();
    world_->pump();
  }

  // A system prompt of several pages.
  static std::string town_rules() {
    std::string rules = "You are a guide.";
    for (int i = 0; i < 30; ++i) rules += " Never speak of town " + std::to_string(i) + ".";
    return rules;
  }
  // Publishes the system prompt, so that every tenant finds it. Returns its id.
  std::string publish(const std::string& system_prompt) {
    const wire::ChunkPut put{ChunkType::kSystemPrompt, system_prompt};
    wire::ChunkUpdate update;
    update.id = world_->one<wire::ChunkReply>(world_->send(put)).chunk.id;
    update.published = true;
    world_->one<wire::ChunkReply>(world_->send(update));
    return update.id;
  }
  static wire::GenerateRequest ask_for_town(const wire::ChunkRef& system_prompt) {
    wire::GenerateRequest request = ask({system_prompt, query_text("Which town?")});
    request.retain_output = true;
    request.max_tokens = 4;
    return request;
  }

  // Flips a bit of the first part of some leased page; returns where the page is, or nullopt if no
  // page was found. Call it between two steps: nothing is read then.
  std::optional<uint64_t> damage_leased_page(Random& random) {
    const PageLeases& leases = store_->kv().leases();
    const auto leased = leases.find(static_cast<uint32_t>(random.below(leases.count() + 1)));
    if (leased == nullptr) return std::nullopt;
    std::vector<uint8_t>& bytes = disk_.bytes(store_->directory().kv_folder() + "/0000000" +
                                              std::to_string(leased->file) + ".kv");
    const uint64_t at = leased->offset + random.below(leased->parts.front().bytes);
    bytes[at] ^= static_cast<uint8_t>(1 << random.below(8));
    return leased->offset;
  }

  MemoryDisk disk_;
  DiskLimits disk_limits_;  // that the next scheduler knows of
  bool rebuild_ = false;    // the next start makes the database anew
  std::unique_ptr<Store> store_;
  std::unique_ptr<SchedulerWorld> world_;
};

}  // namespace cascade::testing
