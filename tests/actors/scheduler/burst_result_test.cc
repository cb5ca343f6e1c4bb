// What a request takes from a burst.
#include "actors/scheduler/burst_result.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade {
namespace {

TEST(BurstResult, top_tokens_are_those_of_the_place) {
  wire::DecodedSequence result;
  result.token_ids = {7, 8};
  result.top_token_ids = {1, 2, 3, 4};
  result.top_logprobs = {-1, -2, -3, -4};
  Request request;
  take_top_logprobs(result, 1, request);
  EXPECT_EQ(request.top_token_ids, (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(request.top_logprobs, (std::vector<float>{-3, -4}));
  result.top_token_ids.clear();
  result.top_logprobs.clear();
  take_top_logprobs(result, 0, request);
  EXPECT_EQ(request.top_token_ids.size(), 2U);
}

TEST(BurstResult, counts_are_added_and_the_latest_record_of_drafts_is_kept) {
  wire::DecodedSequence result;
  result.selected_tokens = 1;
  result.drafted_tokens = 5;
  result.accepted_tokens = 4;
  result.draft_record = {4, 1, 0};
  Request request;
  Counters counters;
  take_counts(result, request, counters);
  result.draft_record = {8, 2, 0};
  take_counts(result, request, counters);
  EXPECT_EQ(request.selected_tokens, 2);
  EXPECT_EQ(counters.tokens_selected, 2);
  EXPECT_EQ(request.drafted_tokens, 10);
  EXPECT_EQ(counters.tokens_drafted, 10);
  EXPECT_EQ(request.accepted_tokens, 8);
  EXPECT_EQ(counters.tokens_accepted, 8);
  EXPECT_EQ(request.draft_record, result.draft_record);
}

TEST(BurstResult, a_sampled_token_costs_at_least_a_prompt_token) {
  SpeedEstimate speed;
  EXPECT_EQ(sampled_token_cost(speed), 1);
  speed.add_prefill(100, 1000);
  EXPECT_EQ(sampled_token_cost(speed), 1);
  speed.add_decode(1, 1, 200);
  EXPECT_EQ(sampled_token_cost(speed), 20);
}

}  // namespace
}  // namespace cascade
