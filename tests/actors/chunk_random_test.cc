// Any mixture of operations on chunks, at any moment of the work, leaves nothing behind.
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/actors/scheduler_world.h"
#include "tests/long_tests.h"
#include "tests/persist/memory_disk.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::SchedulerWorld;

// The parameter says whether the chunks are in a store that outlives the process.
class RandomOperations : public ::testing::TestWithParam<bool> {
 protected:
  SchedulerOptions options() {
    SchedulerOptions options;
    options.keep_pages = GetParam();
    options.max_pinned = 0.3;
    options.chunk_memory_ratio = 0.5;
    return options;
  }

  std::unique_ptr<Store> open_store() {
    if (!GetParam()) return nullptr;
    auto opened = Store::open(disk_, "/state");
    EXPECT_TRUE(opened.ok());
    return *std::move(opened);
  }

  // The store answers in order, so it may answer at once only when it has nothing left to do.
  void let_store_answer(bool at_once) {
    if (at_once) world_.pump();
    world_.store_at_once = at_once;
  }

  // Makes an actor fail and come back, now and then.
  void fail_somebody() {
    switch (random_.below(20)) {
      case 0:
      case 1: world_.restart(testing::Actor::kPrefill); break;
      case 2: world_.restart(testing::Actor::kStore); break;
      case 3:
        let_store_answer(true);
        world_.start_scheduler();
        break;
      default: let_store_answer(random_.below(2) == 0);
    }
  }

  std::optional<int64_t> some_ms() {
    if (random_.below(3) != 0) return std::nullopt;
    return 1 + static_cast<int64_t>(random_.below(2000));
  }

  std::vector<Chunk> listed() {
    return world_.one<wire::ChunkListReply>(world_.post(wire::ChunkListRequest{})).chunks;
  }

  std::string some_id() {
    const std::vector<Chunk> chunks = listed();
    return chunks.empty() ? "chunk_00000000" : chunks[random_.below(chunks.size())].id;
  }

  wire::Message generate() {
    wire::GenerateRequest request;
    const std::string id = some_id();
    if (random_.below(2) == 0 && id.starts_with("output_")) {
      request = ask({testing::output_ref(id), query_text("Why?")});
    } else {
      request = ask({testing::system_text("Be brief " + std::to_string(random_.below(2))),
                     query_text("What is " + std::to_string(random_.below(3)) + "+2?")});
    }
    request.max_tokens = 1 + static_cast<int32_t>(random_.below(30));
    request.retain_output = random_.below(3) != 0;
    request.think_policy = static_cast<ThinkPolicy>(random_.below(3));
    if (request.retain_output) {
      if (random_.below(4) == 0) request.output_pinned = true;
      request.output_ttl_ms = some_ms();
      request.output_priority = static_cast<int32_t>(random_.below(101));
      request.output_priority_ms = some_ms();
    }
    if (random_.below(4) == 0) {
      request.prompt_priority = static_cast<int32_t>(random_.below(101));
      request.prompt_priority_ms = 500;
    }
    return request;
  }

  wire::Message put() {
    wire::ChunkPut put{random_.below(2) == 0 ? ChunkType::kSystemPrompt : ChunkType::kContext,
                       "Be brief " + std::to_string(random_.below(4))};
    if (random_.below(2) == 0) put.pinned = random_.below(2) == 0;
    put.ttl_ms = some_ms();
    return put;
  }

  wire::Message update() {
    wire::ChunkUpdate update;
    update.id = some_id();
    update.touch = random_.below(2) == 0;
    if (random_.below(2) == 0) update.pinned = random_.below(2) == 0;
    update.ttl_ms = some_ms();
    update.priority = static_cast<int32_t>(random_.below(101));
    update.priority_ms = some_ms();
    return update;
  }

  void step() {
    switch (random_.below(9)) {
      case 0: world_.post(generate()); break;
      case 1: world_.post(put()); break;
      case 2:
      case 3: world_.post(update()); break;
      case 4: world_.post(wire::ChunkDelete{some_id()}); break;
      case 5: world_.clock.advance_us(static_cast<int64_t>(random_.below(300'000))); break;
      case 6: fail_somebody(); break;
      default: world_.pump(random_.below(12));
    }
    world_.core().on_tick();
  }

  wire::CacheStats stats() {
    return *world_.one<wire::StatsReply>(world_.post(wire::StatsRequest{})).cache;
  }

  Random random_{testing::test_seed()};
  testing::MemoryDisk disk_;
  std::unique_ptr<Store> store_ = open_store();
  SchedulerWorld world_{options(), 40, store_.get()};
};

TEST_P(RandomOperations, keep_the_limits_and_leave_nothing_behind) {
  const int steps = testing::long_or(1500, 500);
  for (int i = 0; i < steps; ++i) {
    step();
    if (i % 10 != 0) continue;
    const wire::CacheStats now = stats();
    ASSERT_LE(now.pages_pinned, now.pages_pinned_max);
    ASSERT_LE(now.pages_held, std::max(now.pages_held_max, now.pages_pinned + 1));
  }
  let_store_answer(true);
  // The requests are posted, so that no time passes in which a chunk could expire.
  for (const Chunk& chunk : listed()) {
    wire::ChunkUpdate unpin;
    unpin.id = chunk.id;
    unpin.ttl_ms = 0;
    for (bool pinned = true; pinned;) {  // each holder may have a pin of its own
      unpin.pinned = false;
      pinned = world_.one<wire::ChunkReply>(world_.post(unpin)).chunk.pinned;
    }
  }
  for (const Chunk& chunk : listed()) {
    world_.one<wire::ChunkReply>(world_.send(wire::ChunkDelete{chunk.id, "", /*all=*/true}));
  }
  world_.clock.advance_us(10'000'000);
  world_.core().on_tick();
  const wire::CacheStats left = stats();
  EXPECT_EQ(left.pages_pinned, 0);
  EXPECT_EQ(left.pages_pin_promised, 0);
  EXPECT_EQ(left.pages_held, 0);
  const wire::StatusReply status = world_.status();
  EXPECT_EQ(status.chunks_input + status.chunks_output, 0);
  EXPECT_EQ(status.reprefills_pending, 0);
  EXPECT_EQ(status.requests_running, 0);
  if (!GetParam()) return;
  const KvCounters& disk = store_->kv().counters();
  std::cout << disk.pages_written << " pages written, " << disk.pages_read << " read\n";
  EXPECT_GT(disk.pages_written, 0u);
  EXPECT_EQ(disk.pages_bad, 0u);
}

INSTANTIATE_TEST_SUITE_P(Stores, RandomOperations, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "durable" : "in_memory"; });

}  // namespace
}  // namespace cascade
