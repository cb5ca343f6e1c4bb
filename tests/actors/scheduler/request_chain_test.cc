// Where the chains of requests begin, and what later prompts are expected to share with them.
#include "actors/scheduler/request_chain.h"

#include <gtest/gtest.h>

#include "tests/actors/scheduler/room_test.h"
#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::demo_model;

class RequestChain : public testing::RoomTest {
 protected:
  RequestChain() : RoomTest(20, /*state_slots=*/4) {}
  bool begin(Request& request) {
    return begin_chain(caches_, alice_, request.reusable(), /*observed=*/true, 1, request);
  }
};

TEST_F(RequestChain, plans_a_state_where_pages_end_that_have_none) {
  compute(count_up(0, 150), alice_);
  Request request;
  request.prompt = count_up(0, 200);
  request.history_tokens = 190;
  ASSERT_TRUE(begin(request));
  EXPECT_EQ(request.sequence->committed(), 0) << "there is no state";
  EXPECT_EQ(request.plan.begin, 0);
  EXPECT_EQ(request.plan.tokens, 200);
  EXPECT_EQ(request.plan.fork, 150);
  EXPECT_EQ(request.plan.resumes, 190);
}

TEST_F(RequestChain, does_not_begin_without_a_slot) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(states_.allocate());
  Request request;
  request.prompt = count_up(0, 200);
  EXPECT_FALSE(begin(request));
  EXPECT_EQ(request.sequence, nullptr);
}

TEST(HistoryTokens, all_but_what_the_generation_prompt_adds) {
  Request request;
  request.prompt = count_up(0, 100);
  EXPECT_EQ(history_tokens(demo_model().tokenizer, request), 99) << "the last one is computed";
  request.generation_prefix = "<think>\n\n</think>\n\n";
  const auto added = demo_model().tokenizer.encode(request.generation_prefix, true, false);
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(history_tokens(demo_model().tokenizer, request), 100 - std::ssize(*added));
}

TEST(HistoryTokens, a_prefix_is_history_to_its_end) {
  Request request;
  request.prefix = true;
  request.prompt = count_up(0, 100);
  EXPECT_EQ(history_tokens(demo_model().tokenizer, request), 100);
}

TEST(HistoryTokens, are_not_negative) {
  Request request;
  request.prompt = {1};
  request.generation_prefix = "more than the prompt";
  EXPECT_EQ(history_tokens(demo_model().tokenizer, request), 0);
}

}  // namespace
}  // namespace cascade
