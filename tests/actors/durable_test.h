// Tests of a scheduler whose store outlives it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/actors/scheduler_world.h"
#include "tests/persist/memory_disk.h"

namespace cascade::testing {

inline SchedulerOptions keeping_pages() {
  SchedulerOptions options;
  options.keep_pages = true;
  return options;
}

class DurableTest : public ::testing::Test {
 protected:
  explicit DurableTest(SchedulerOptions options = {}, size_t pages = SchedulerWorld::kPages)
      : options_(std::move(options)), pages_(pages) {}

  void SetUp() override { start(); }
  void TearDown() override {
    world_.reset();
    store_.reset();
  }
  void start() {
    auto opened = Store::open(disk_, "/state", {});
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    store_ = *std::move(opened);
    world_ = std::make_unique<SchedulerWorld>(options_, pages_, store_.get());
  }
  // Restarts as after kill -9: the files stay as they are, and nothing is left in memory.
  void restart() {
    world_.reset();
    disk_.kill();
    store_.reset();
    start();
  }

  const SchedulerOptions options_;
  const size_t pages_;
  MemoryDisk disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SchedulerWorld> world_;
};

}  // namespace cascade::testing
