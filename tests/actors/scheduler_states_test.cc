// Models with recurrent layers: prompts go on from kept states, with the bits of a cold prompt.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/hybrid_world.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::expect_cold_bits;
using testing::HybridWorld;
using testing::ids_request;
using testing::joined;
using testing::some_ids;
using Ids = std::vector<int32_t>;

wire::Final answer(HybridWorld& world, const wire::GenerateRequest& request) {
  return world.one<wire::Final>(world.send(request));
}

TEST(SchedulerStates, a_turn_goes_on_from_the_end_of_the_answer_before) {
  for (const std::string& name : testing::hybrids_of_each_kind()) {
    HybridWorld world(name);
    Ids chain = some_ids(1, 100);
    for (int turn = 0; turn < 4; ++turn) {
      const wire::GenerateRequest request = ids_request(chain, 20);
      const wire::Final final = answer(world, request);
      // The last token of an answer is not computed before the next turn.
      const int64_t known = turn == 0 ? 0 : std::ssize(chain) - 30 - 1;
      EXPECT_EQ(final.usage.reused_tokens, known) << name << ", turn " << turn;
      expect_cold_bits(request, final, name);
      chain = joined(joined(chain, final.token_ids), some_ids(10 + uint64_t(turn), 30));
    }
  }
}

TEST(SchedulerStates, a_prompt_that_comes_again_is_not_computed_again) {
  HybridWorld world;
  const wire::GenerateRequest request = ids_request(some_ids(1, 150), 5);
  answer(world, request);
  const wire::Final again = answer(world, request);
  EXPECT_EQ(again.usage.reused_tokens, 149);
  EXPECT_EQ(again.usage.miss.reason, MissReason::kNone);
  expect_cold_bits(request, again);
}

TEST(SchedulerStates, the_place_where_prompts_part_gets_a_state_when_it_is_met) {
  HybridWorld world;
  for (const size_t tail : {50, 5, 2}) {
    const Ids shared = some_ids(tail, 200);
    answer(world, ids_request(joined(shared, some_ids(102, tail)), 1));
    const wire::Final second = answer(world, ids_request(joined(shared, some_ids(103, tail)), 1));
    EXPECT_EQ(second.usage.reused_tokens, 0) << tail;
    EXPECT_EQ(second.usage.miss, (Miss{MissReason::kNoState, 0})) << tail;
    const wire::GenerateRequest third = ids_request(joined(shared, some_ids(104, tail)), 1);
    const wire::Final final = answer(world, third);
    EXPECT_EQ(final.usage.reused_tokens, 200) << tail;
    expect_cold_bits(third, final);
  }
}

TEST(SchedulerStates, without_room_for_more_the_state_that_was_not_used_for_longest_is_dropped) {
  HybridWorld world("qwen3-5", /*state_slots=*/3);
  const Ids first = some_ids(1, 100), second = some_ids(2, 100), third = some_ids(3, 100);
  for (const Ids& prompt : {first, second, third}) answer(world, ids_request(prompt, 1));
  EXPECT_EQ(answer(world, ids_request(third, 1)).usage.reused_tokens, 99);
  const wire::Final again = answer(world, ids_request(first, 1));
  EXPECT_EQ(again.usage.reused_tokens, 0);
  EXPECT_EQ(again.usage.miss.reason, MissReason::kNoState);
  expect_cold_bits(ids_request(first, 1), again);
}

// Lets all requests run. Returns how many sequences the largest decode job had.
size_t largest_batch(HybridWorld& world) {
  size_t largest = 0;
  while (world.pump(1) > 0) {
    if (const auto* job = world.next_job<wire::DecodeJob>()) {
      largest = std::max(largest, job->sequences.size());
    }
  }
  return largest;
}

TEST(SchedulerStates, no_more_requests_run_together_than_there_is_room_for_states) {
  for (const auto& [slots, places] : {std::pair<size_t, size_t>(3, 1), {8, 4}, {16, 8}}) {
    HybridWorld world("qwen3-5", slots, /*pages=*/200, testing::bursts_of(4));
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < 12; ++i) {
      numbers.push_back(world.post(ids_request(some_ids(i, 70), 40)));
    }
    const size_t largest = largest_batch(world);
    EXPECT_GE(largest, places) << slots;
    EXPECT_LE(largest, places + 1) << slots << ": one more may run, from the reserve";
    for (uint64_t i = 0; i < 12; ++i) {
      expect_cold_bits(ids_request(some_ids(i, 70), 40), world.one<wire::Final>(numbers[i]));
    }
  }
}

TEST(SchedulerStates, a_prompt_takes_over_what_another_one_computes_at_the_same_time) {
  SchedulerOptions options;
  options.planner.slice_tokens_max = 64;
  HybridWorld world("qwen3-5", /*state_slots=*/16, /*pages=*/200, options);
  const wire::GenerateRequest request = ids_request(some_ids(1, 200), 1);
  const uint64_t first = world.post(request), second = world.post(request);
  world.pump();
  const wire::Final finals[] = {world.one<wire::Final>(first), world.one<wire::Final>(second)};
  EXPECT_EQ(finals[0].usage.reused_tokens + finals[1].usage.reused_tokens, 199);
  for (const wire::Final& final : finals) expect_cold_bits(request, final);
}

TEST(SchedulerStates, a_job_that_is_lost_with_its_actor_gives_its_slots_back) {
  HybridWorld world("qwen3-5", /*state_slots=*/3);
  for (const Actor actor : {Actor::kPrefill, Actor::kDecode, Actor::kPrefill, Actor::kDecode}) {
    const uint64_t number = world.post(ids_request(some_ids(1, 100), 50));
    for (int i = 0; i < 20 && world.jobs_for(actor) == 0; ++i) world.pump(1);
    ASSERT_EQ(world.jobs_for(actor), 1u);
    world.restart(actor);
    world.pump();
    EXPECT_EQ(world.error(number).code, ErrorCode::kInternal);
  }
  for (uint64_t i = 0; i < 3; ++i) {
    const wire::GenerateRequest request = ids_request(some_ids(i, 100), 5);
    expect_cold_bits(request, answer(world, request));
  }
}

TEST(SchedulerStates, nothing_is_kept_of_what_a_burst_computes_after_its_stop_string) {
  HybridWorld world("qwen3-5", 16, 200, testing::bursts_of(16));
  wire::GenerateRequest request = ids_request(some_ids(1, 100), 32);
  const wire::Final whole = answer(world, request);
  request.stop = {whole.text.substr(0, whole.text.size() / 4)};
  HybridWorld other("qwen3-5", 16, 200, testing::bursts_of(16));
  const wire::Final cut = answer(other, request);
  ASSERT_LT(cut.token_ids.size(), whole.token_ids.size());
  const Ids beyond = joined(request.prompt_token_ids, whole.token_ids);
  EXPECT_EQ(answer(other, ids_request(beyond, 1)).usage.reused_tokens, 99)
      << "the end of the prompt, not that of the burst";
  const auto next =
      ids_request(joined(joined(request.prompt_token_ids, cut.token_ids), some_ids(2, 20)), 3);
  const wire::Final final = answer(other, next);
  EXPECT_GE(final.usage.reused_tokens, 99);
  expect_cold_bits(next, final);
}

TEST(SchedulerStates, a_prompt_that_shares_only_its_first_tokens_misses_nothing) {
  HybridWorld world;
  answer(world, ids_request(joined(some_ids(1, 20), some_ids(2, 100)), 1));
  const Ids other = joined(some_ids(1, 20), some_ids(3, 100));
  const Miss miss = answer(world, ids_request(other, 1)).usage.miss;
  EXPECT_EQ(miss.reason, MissReason::kDiffers);
  EXPECT_EQ(miss.position, 20);
}

TEST(SchedulerStates, a_prefix_leaves_the_state_at_its_end) {
  HybridWorld world;
  wire::PrefixCache prefix;
  prefix.prompt = std::string(150, 'a');
  const auto kept = world.one<wire::PrefixReply>(world.send(prefix));
  wire::GenerateRequest request = testing::prompt_request(*prefix.prompt + "bcd", 3);
  request.logprobs = true;
  const wire::Final final = answer(world, request);
  EXPECT_EQ(final.usage.reused_tokens, kept.tokens);
  expect_cold_bits(request, final);
}

wire::PrefixCache prefix_of(char letter) {
  wire::PrefixCache prefix;
  prefix.prompt = std::string(150, letter);
  return prefix;
}

TEST(SchedulerStates, a_prefix_keeps_its_state_beside_other_work) {
  HybridWorld world("qwen3-5", /*state_slots=*/3);
  const wire::PrefixCache prefix = prefix_of('a');
  EXPECT_EQ(world.one<wire::PrefixReply>(world.send(prefix)).prefilled_tokens, 150);
  for (uint64_t i = 0; i < 3; ++i) answer(world, ids_request(some_ids(i, 50), 1));
  EXPECT_EQ(world.one<wire::PrefixReply>(world.send(prefix)).prefilled_tokens, 0);
  const auto after = testing::prompt_request(*prefix.prompt + "bcd", 1);
  EXPECT_EQ(answer(world, after).usage.reused_tokens, 150);
}

TEST(SchedulerStates, a_prefix_whose_state_was_dropped_is_computed_once_more) {
  HybridWorld world("qwen3-5", /*state_slots=*/3);
  const wire::PrefixCache prefix = prefix_of('a');
  world.send(prefix);
  for (const char letter : {'b', 'c'}) world.send(prefix_of(letter));
  answer(world, ids_request(some_ids(1, 50), 1));  // it needs two of the three slots
  EXPECT_EQ(world.one<wire::PrefixReply>(world.send(prefix)).prefilled_tokens, 150);
  const auto after = testing::prompt_request(*prefix.prompt + "bcd", 1);
  EXPECT_EQ(answer(world, after).usage.reused_tokens, 150);
}

TEST(SchedulerStates, a_deleted_output_takes_its_states_along) {
  HybridWorld world;
  wire::GenerateRequest request = testing::prompt_request(std::string(100, 'a'), 40);
  request.retain_output = true;
  const wire::Final final = answer(world, request);
  const Ids prompt(100, 'a');
  const auto next = ids_request(joined(joined(prompt, final.token_ids), some_ids(1, 20)), 1);
  ASSERT_GT(answer(world, next).usage.reused_tokens, 130);
  world.one<wire::ChunkReply>(world.send(wire::ChunkDelete{final.output_chunk_id}));
  const wire::Final after = answer(world, next);
  EXPECT_LE(after.usage.reused_tokens, 100);
  expect_cold_bits(next, after);
}

TEST(SchedulerStates, drafts_are_refused) {
  HybridWorld world;
  wire::GenerateRequest request = ids_request(some_ids(1, 10), 1);
  request.attention = "verify";
  const Error error = world.error(world.send(request));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.field, "attention");
  SchedulerOptions options;
  options.attention = *parse_attention("verify");
  HybridWorld dense("qwen3-5", 16, 200, options);
  EXPECT_EQ(answer(dense, ids_request(some_ids(1, 10), 1)).attention, "dense");
}

// Prompts that go on from each other in any way, many at a time, some of them cancelled, with
// little memory for pages and states.
TEST(SchedulerStates, any_mixture_of_requests_has_the_bits_of_cold_prompts) {
  Random random(testing::test_seed());
  const std::string& name = testing::hybrids_of_each_kind()[random.below(3)];
  SchedulerOptions options = testing::bursts_of(3);
  options.requests_running_max = 3;
  options.planner.slice_tokens_max = 50;
  HybridWorld world(name, 3 + random.below(6), 12 + random.below(20), options);
  std::vector<Ids> chains = {some_ids(random.below(1000), 90)};
  for (int round = 0; round < 25; ++round) {
    std::vector<std::pair<uint64_t, wire::GenerateRequest>> sent;
    for (uint64_t i = 0; i <= random.below(4); ++i) {
      const Ids prompt = testing::random_prompt(random, chains, /*cuts=*/2);
      sent.emplace_back(0, ids_request(prompt, 1 + int32_t(random.below(12))));
      sent.back().first = world.post(sent.back().second);
      world.pump(random.below(6));
    }
    if (random.below(4) == 0) world.send(wire::CancelRequest{testing::request_id(sent[0].first)});
    world.pump();
    for (const auto& [number, request] : sent) {
      const auto finals = world.all<wire::Final>(number);
      ASSERT_EQ(finals.size(), 1u);
      if (finals[0].finish_reason == "cancelled") continue;
      expect_cold_bits(request, finals[0], name);
      chains.push_back(joined(request.prompt_token_ids, finals[0].token_ids));
    }
  }
  // All slots have come back: states are still kept.
  const auto last = ids_request(some_ids(1000, 100), 5);
  const auto next = ids_request(joined(last.prompt_token_ids, answer(world, last).token_ids), 1);
  EXPECT_EQ(answer(world, next).usage.reused_tokens, 104);
}

}  // namespace
}  // namespace cascade
