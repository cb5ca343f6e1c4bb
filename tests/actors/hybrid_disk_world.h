// A scheduler with a tiny model that has recurrent layers, whose disk outlives it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/actors/hybrid_world.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade::testing {

class HybridDiskWorld {
 public:
  explicit HybridDiskWorld(std::string name = "qwen3-5", size_t state_slots = 16,
                           SchedulerOptions options = {}, size_t pages = 200)
      : name_(std::move(name)),
        state_slots_(state_slots),
        pages_(pages),
        options_(std::move(options)) {
    options_.keep_pages = options_.keep_states = true;
    states_options.disk_bytes_max = UINT64_MAX;
    start();
  }
  ~HybridDiskWorld() { stop(); }

  // Starts again as after kill -9: the files stay as they are, and nothing is left in memory.
  void restart() {
    stop();
    start();
  }

  HybridWorld& world() { return *world_; }
  MemoryDisk& disk() { return disk_; }
  const std::string& name() const { return name_; }
  Store& store() { return *store_; }
  ChainStates& states() { return *states_; }
  size_t states_on_disk() {
    const auto states = states_->of_model(hybrid_model(name_).root_key(""));
    EXPECT_TRUE(ok(states));
    return states.ok() ? states->size() : 0;
  }
  // The bytes that one state takes on disk, with its header.
  uint64_t state_record_bytes() const {
    KvPageHeader header;
    header.stored_bytes = hybrid_model(name_).config.recurrent.state_floats() * sizeof(float);
    return header.record_bytes();
  }

  wire::Final answer(const wire::GenerateRequest& request) {
    return world_->one<wire::Final>(world_->send(request));
  }
  // Answers, and expects the bits of a scheduler without any kept states.
  wire::Final exact(const wire::GenerateRequest& request) {
    const wire::Final final = answer(request);
    expect_cold_bits(request, final, name_);
    return final;
  }

  KvOptions states_options = test_options().kv;  // of the next start

 private:
  void start() {
    StoreOptions options = test_options();
    options.kv.file_bytes_max = uint64_t{1} << 30;
    store_ = open_store(disk_, options);
    auto states = ChainStates::open(*store_, states_options);
    ASSERT_TRUE(ok(states));
    states_ = *std::move(states);
    world_ = std::make_unique<HybridWorld>(name_, state_slots_, pages_, options_, store_.get(),
                                           states_.get());
    set_speeds(*world_);  // so that reading is always worth it
  }
  void stop() {
    world_.reset();
    disk_.kill();  // closing the store must not change the disk
    states_.reset();
    store_.reset();
  }

  const std::string name_;
  const size_t state_slots_, pages_;
  SchedulerOptions options_;
  MemoryDisk disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<ChainStates> states_;
  std::unique_ptr<HybridWorld> world_;
};

// A prompt whose answer is kept.
inline wire::GenerateRequest retained_ids(std::vector<int32_t> prompt, int32_t answer) {
  wire::GenerateRequest request = ids_request(std::move(prompt), answer);
  request.retain_output = true;
  return request;
}

}  // namespace cascade::testing
