// Chunks that are deleted while work for them is under way: the client that asked is answered soon,
// whatever else the daemon has to do.
#include <gtest/gtest.h>

#include "tests/actors/disk_budget_world.h"
#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::long_text;
using testing::prompt_request;
using testing::SchedulerWorld;
using testing::set_speeds;

// A system prompt whose pages are being computed for a pin, in idle time and in several slices. The
// prefill actor has the first slice.
class ErasureOfIdleWork : public ::testing::Test {
 protected:
  void SetUp() override {
    set_speeds(world_);
    wire::ChunkPut put;
    put.type = ChunkType::kSystemPrompt;
    put.text = long_text("System", 900);
    put.pinned = true;
    const uint64_t number = world_.post(put);
    while (world_.all<wire::ChunkReply>(number).empty()) ASSERT_EQ(world_.pump(1), 1u);
    id_ = world_.one<wire::ChunkReply>(number).chunk.id;
    while (world_.next_job<wire::PrefillJob>() == nullptr) ASSERT_EQ(world_.pump(1), 1u);
    ASSERT_LT(world_.next_job<wire::PrefillJob>()->token_ids.size(), 900u);
    wire::ChunkUpdate unpin;
    unpin.id = id_;
    unpin.pinned = false;
    world_.one<wire::ChunkReply>(world_.post(unpin));
    deleted_ = world_.post(wire::ChunkDelete{id_});
    EXPECT_FALSE(answered()) << "a slice is still being computed";
  }
  bool answered() const { return !world_.all<wire::ChunkReply>(deleted_).empty(); }

  SchedulerWorld world_;
  std::string id_;
  uint64_t deleted_ = 0;
};

TEST_F(ErasureOfIdleWork, does_not_wait_until_nobody_asks_for_anything) {
  const uint64_t busy = world_.post(prompt_request("Paris", 300));
  while (world_.all<wire::Final>(busy).empty() && !answered()) ASSERT_EQ(world_.pump(1), 1u);
  EXPECT_TRUE(answered());
  EXPECT_TRUE(world_.all<wire::Final>(busy).empty());
  world_.pump();
  EXPECT_EQ(world_.status().reprefills_pending, 0);
}

// When a part of the time for a stop has passed, the daemon does no more idle work.
TEST_F(ErasureOfIdleWork, does_not_keep_the_daemon_from_stopping) {
  world_.core().stop();
  world_.clock.advance_us(SchedulerOptions{}.stop_us / 2);
  world_.pump();
  EXPECT_TRUE(answered());
  EXPECT_TRUE(world_.core().stopped());
}

class ErasureOfPublicPages : public testing::DiskBudgetWorld {};

// A tenant's chain that begins with the public pages is being written.
TEST_F(ErasureOfPublicPages, does_not_leave_those_that_are_in_use_when_it_comes) {
  start(1000);
  const std::string id = publish(town_rules());
  wire::GenerateRequest request = ask_for_town({ChunkType::kSystemPrompt, id, ""});
  world_->store_at_once = false;
  const uint64_t number = world_->post(request, "client", "guest");
  while (world_->next_job<wire::StorePages>() == nullptr && world_->pump(1) == 1) {
  }
  ASSERT_NE(world_->next_job<wire::StorePages>(), nullptr);
  EXPECT_GT(world_->one<wire::Final>(number).usage.reused_tokens, 2 * kPageTokens);
  const uint64_t gone = world_->send(wire::ChunkDelete{id, "", true});
  EXPECT_TRUE(world_->one<wire::ChunkReply>(gone).gone.value_or(false));
  request = ask_for_town(testing::system_text(town_rules()));
  const uint64_t again = world_->send_as("other", request);
  EXPECT_LT(world_->one<wire::Final>(again).usage.reused_tokens, kPageTokens);
}

}  // namespace
}  // namespace cascade
