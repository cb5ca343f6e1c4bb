// A scheduler and a store on a disk in memory. They work step by step and may be killed before any
// step.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "persist/kv_format.h"
#include "tests/actors/scheduler_world.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade::testing {

struct DaemonShape {
  const char* name;
  size_t memory_pages;
  int64_t disk_pages;
  int64_t file_pages;  // of one KV file
  int burst_steps;     // 0: the daemon's default
};

class MortalDaemon {
 public:
  static constexpr size_t kNoKill = SIZE_MAX;

  explicit MortalDaemon(const DaemonShape& shape) : shape_(shape) { start(); }
  ~MortalDaemon() {
    world_.reset();
    store_.reset();
  }

  SchedulerWorld& world() { return *world_; }
  Store& store() { return *store_; }
  MemoryDisk& disk() { return disk_; }
  int kills() const { return kills_; }

  // Is called before a kill.
  std::function<void()> before_kill;
  void kill() {
    if (before_kill) before_kill();
    const int64_t then_us = world_->clock.monotonic_us();
    world_.reset();
    disk_.kill();
    store_.reset();
    start();
    kill_in_ = kNoKill;
    ++kills_;
    world_->clock.advance_us(then_us - world_->clock.monotonic_us());
    world_->core().on_tick();
  }
  // Kills the daemon after `steps` further steps of wait_for() and of pass_steps().
  void kill_in(size_t steps) { kill_in_ = steps; }

  // Does one job. If there is none, time passes.
  void step() {
    if (world_->pump(1) > 0) return;
    world_->clock.advance_us(20'000);
    world_->core().on_tick();
  }
  void live(int64_t ms) {
    const int64_t until_us = world_->clock.monotonic_us() + ms * 1000;
    while (world_->clock.monotonic_us() < until_us) step();
  }
  // False: the daemon was killed before the request was answered.
  bool wait_for(uint64_t number) {
    for (int i = 0; i < 20'000; ++i) {
      if (answered(number)) return true;
      if (!pass_step()) return false;
    }
    ADD_FAILURE() << "no answer";
    return true;
  }
  // Does the steps up to the kill. False: the daemon was killed.
  bool pass_steps() {
    while (kill_in_ != kNoKill) {
      if (!pass_step()) return false;
    }
    return true;
  }
  std::optional<ErrorCode> error_of(uint64_t number) const {
    const auto errors = world_->all<wire::ErrorReply>(number);
    if (errors.empty()) return std::nullopt;
    return errors[0].error.code;
  }
  // nullopt: the chunk was not found.
  std::optional<Chunk> find_chunk(const std::string& id) {
    const auto found = world_->all<wire::ChunkReply>(world_->post(wire::ChunkGet{id}));
    if (found.empty()) return std::nullopt;
    return found[0].chunk;
  }
  // Checks that fsck finds nothing.
  void check_store() {
    const uint64_t number = world_->send(wire::FsckRequest{});
    while (world_->idle_store()) {
    }
    const auto reply = world_->one<wire::FsckReply>(number);
    EXPECT_EQ(reply.found, 0);
    for (const auto& finding : reply.findings) {
      ADD_FAILURE() << finding.where << ": " << finding.what;
    }
  }

 private:
  void start() {
    const uint64_t record = SchedulerWorld::page_bytes() + kKvBlockBytes;
    StoreOptions options = test_options();
    options.kv.file_bytes_max = static_cast<uint64_t>(shape_.file_pages) * record;
    options.kv.disk_bytes_max = static_cast<uint64_t>(shape_.disk_pages + 1) * record;
    store_ = open_store(disk_, options);
    CHECK(store_ != nullptr);
    SchedulerOptions scheduler =
        shape_.burst_steps > 0 ? bursts_of(shape_.burst_steps) : SchedulerOptions();
    scheduler.keep_pages = true;
    world_ = std::make_unique<SchedulerWorld>(scheduler, shape_.memory_pages, store_.get());
    world_->store_at_once = false;
    set_speeds(*world_);
  }
  bool answered(uint64_t number) const {
    return !world_->all<wire::Final>(number).empty() ||
           !world_->all<wire::ChunkReply>(number).empty() ||
           !world_->all<wire::SessionReply>(number).empty() ||
           !world_->all<wire::ErrorReply>(number).empty();
  }
  bool pass_step() {
    if (kill_in_ == 0) {
      kill();
      return false;
    }
    step();
    if (kill_in_ != kNoKill) --kill_in_;
    return true;
  }

  const DaemonShape shape_;
  MemoryDisk disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SchedulerWorld> world_;
  size_t kill_in_ = kNoKill;
  int kills_ = 0;
};

}  // namespace cascade::testing
