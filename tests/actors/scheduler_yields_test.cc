// Idle work makes way: a slice that nobody waits for ends undone when the prefill actor is wanted
// for something else, and is computed later.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::long_text;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

const std::string kPrompt = long_text("prompt", 200);  // several pages

wire::GenerateRequest question() {
  wire::GenerateRequest request =
      ask({system_text(kPrompt), query_text("What is the capital of France?")});
  request.max_tokens = 8;
  return request;
}

// A world whose prefill actor gives up the next `give_up_` slices that yield.
class Yields : public ::testing::Test {
 protected:
  Yields() {
    // Slices are as long as the speed allows that was measured.
    set_speeds(world_);
    world_.send(ask({query_text(long_text("other", 60))}));
    world_.prefill = [this](const wire::PrefillJob& job) {
      jobs_.push_back(job);
      // A pass asks at least four times a layer.
      const wire::PrefillDone done = run_prefill(world_.engine(), job, [this, asked = 0]() mutable {
        return give_up_ > 0 && ++asked > 4 * layers_;
      });
      if (done.yielded) --give_up_;
      return done;
    };
  }
  // Has idle time prefill a system prompt.
  void pin_prompt() {
    wire::ChunkPut put{ChunkType::kSystemPrompt, kPrompt};
    put.pinned = true;
    world_.post(put);
  }

  // The question about the prompt finds K and V that have the bits of a cold prompt's.
  void expect_cold_answer() {
    SchedulerWorld cold;
    const auto expected = cold.one<wire::Final>(cold.send(question()));
    const auto answer = world_.one<wire::Final>(world_.send(question()));
    EXPECT_GT(answer.usage.reused_tokens, 2 * kPageTokens);
    EXPECT_EQ(answer.token_ids, expected.token_ids);
    EXPECT_EQ(answer.logprobs, expected.logprobs);
  }

  SchedulerWorld world_;
  std::vector<wire::PrefillJob> jobs_;
  size_t give_up_ = 0;
  int layers_ = 1;  // that a slice computes, at least, before it is given up
};

TEST_F(Yields, a_slice_that_yielded_is_resumed_and_has_the_same_bits) {
  give_up_ = 5;
  pin_prompt();
  world_.pump();
  EXPECT_EQ(give_up_, 0u);
  ASSERT_GE(jobs_.size(), 7u);
  EXPECT_EQ(jobs_[0].resumes, 0u);
  for (size_t again = 1; again <= 5; ++again) {
    EXPECT_EQ(jobs_[again].resumes, jobs_[again - 1].job);
    EXPECT_EQ(jobs_[again].position, jobs_[0].position);
    EXPECT_EQ(jobs_[again].token_ids, jobs_[0].token_ids);
  }
  EXPECT_EQ(jobs_[6].resumes, 0u);
  EXPECT_GT(jobs_[6].position, jobs_[0].position);
  expect_cold_answer();
}

TEST_F(Yields, requests_between_a_slice_and_its_resumption_change_no_bit) {
  pin_prompt();
  while (world_.next_job<wire::PrefillJob>() == nullptr) ASSERT_EQ(world_.pump(1), 1u);
  for (int i = 0; i < 4; ++i) {
    give_up_ = 1;
    layers_ = 2 * i + 1;  // of each pass, until it yields
    wire::GenerateRequest other = ask({query_text("What is " + std::to_string(i) + " + 1?")});
    other.max_tokens = 3;
    const uint64_t number = world_.post(other);
    while (world_.all<wire::Final>(number).empty()) ASSERT_EQ(world_.pump(1), 1u);
  }
  world_.pump();
  EXPECT_EQ(std::ranges::count_if(jobs_, [](const auto& job) { return job.resumes != 0; }), 4);
  expect_cold_answer();
}

TEST_F(Yields, a_request_that_made_idle_work_yield_comes_before_it) {
  pin_prompt();
  while (world_.next_job<wire::PrefillJob>() == nullptr) ASSERT_EQ(world_.pump(1), 1u);
  ASSERT_TRUE(world_.next_job<wire::PrefillJob>()->yields);
  give_up_ = 1;
  const uint64_t number = world_.post(question());
  while (world_.all<wire::Final>(number).empty()) ASSERT_EQ(world_.pump(1), 1u);
  ASSERT_GE(jobs_.size(), 2u);
  EXPECT_EQ(give_up_, 0u);
  for (size_t i = 1; i < jobs_.size(); ++i) EXPECT_FALSE(jobs_[i].yields) << i;
}

TEST_F(Yields, its_chunk_may_be_deleted_meanwhile) {
  pin_prompt();
  while (world_.next_job<wire::PrefillJob>() == nullptr) ASSERT_EQ(world_.pump(1), 1u);
  give_up_ = 1;
  const auto list = world_.one<wire::ChunkListReply>(world_.post(wire::ChunkListRequest{}));
  ASSERT_EQ(list.chunks.size(), 1u);
  wire::ChunkUpdate unpin;
  unpin.id = list.chunks[0].id;
  unpin.pinned = false;
  world_.post(unpin);
  const uint64_t deleted = world_.post(wire::ChunkDelete{list.chunks[0].id});
  world_.pump();
  world_.one<wire::ChunkReply>(deleted);
  EXPECT_EQ(give_up_, 0u);
  EXPECT_EQ(jobs_.size(), 1u) << "nothing is left to compute";
}

TEST_F(Yields, slices_of_requests_do_not_yield) {
  give_up_ = 1;
  world_.one<wire::Final>(world_.send(question()));
  EXPECT_EQ(give_up_, 1u);
  EXPECT_FALSE(jobs_.empty());
}

}  // namespace
}  // namespace cascade
