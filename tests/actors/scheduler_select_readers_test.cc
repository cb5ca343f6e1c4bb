// Requests that select and are longer than the KV memory: what they choose is read from disk, and
// they get the bits of a daemon whose memory holds everything.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/actors/attention_requests.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::bits_of;
using testing::kFirstSelecting;
using testing::random_tokens;
using testing::request_in;
using testing::SchedulerWorld;

constexpr char kMode[] = "select:64:0";
constexpr size_t kMemoryPagesOfReader = 8;
// More than twice the memory, and than the first token needs that selects; many times in long
// tests.
const int64_t kSelectingTokens = kFirstSelecting + testing::long_or(40, 2) * int64_t{kPageTokens};

wire::GenerateRequest long_request(uint64_t seed, const char* mode = kMode, int32_t answer = 20) {
  return request_in(mode, random_tokens(kSelectingTokens + 9, seed), answer);
}

class SchedulerSelectReaders : public testing::AttentionWorld {
 protected:
  void SetUp() override { start(1000, kMemoryPagesOfReader); }
  // The answer with all pages in memory.
  static const std::vector<uint32_t>& expected(uint64_t seed) {
    static std::map<uint64_t, std::vector<uint32_t>> known;
    if (!known.contains(seed)) known[seed] = bits_alone(long_request(seed));
    return known[seed];
  }
  std::vector<uint32_t> result(uint64_t number) {
    return bits_of(world_->one<wire::Final>(number));
  }
};

TEST_F(SchedulerSelectReaders, have_the_bits_of_a_sequence_in_memory) {
  const wire::Final final = answer(long_request(1));
  EXPECT_EQ(bits_of(final), expected(1));
  EXPECT_EQ(final.usage.selected_tokens, kSelectingTokens + 9 - kFirstSelecting + 19);
  EXPECT_EQ(final.usage.prefilled_tokens, kSelectingTokens + 9);
}

TEST_F(SchedulerSelectReaders, beside_others_do_not_disturb_each_other) {
  const uint64_t first = world_->post(long_request(1));
  const uint64_t dense = world_->post(long_request(1, "dense"));
  const wire::GenerateRequest short_one = request_in(kMode, random_tokens(200, 4), 20);
  const uint64_t quick = world_->post(short_one);
  world_->pump();
  EXPECT_EQ(result(first), expected(1));
  EXPECT_EQ(result(quick), bits_alone(short_one));
  EXPECT_EQ(result(dense), bits_alone(long_request(1, "dense")));
}

// Its pages on disk are adopted without being read; their keys are read once, for the indexes.
TEST_F(SchedulerSelectReaders, the_next_turn_goes_on_from_pages_on_disk) {
  wire::GenerateRequest request = long_request(5);
  const wire::Final first = answer(request);
  request.prompt_token_ids.insert(request.prompt_token_ids.end(), first.token_ids.begin(),
                                  first.token_ids.end());
  const std::vector<int32_t> question = random_tokens(50, 6);
  request.prompt_token_ids.insert(request.prompt_token_ids.end(), question.begin(), question.end());
  const wire::Final next = answer(request);
  EXPECT_EQ(bits_of(next), bits_alone(request));
  EXPECT_LT(next.usage.prefilled_tokens, 50 + 2 * kPageTokens);
}

TEST_F(SchedulerSelectReaders, a_killed_daemon_goes_on_from_what_is_on_disk) {
  for (const size_t steps : {30, 60}) {
    SCOPED_TRACE(steps);
    start(1000, kMemoryPagesOfReader);
    world_->post(long_request(7));
    world_->pump(steps);
    start(1000, kMemoryPagesOfReader);
    const wire::Final again = answer(long_request(7));
    EXPECT_EQ(bits_of(again), expected(7));
    EXPECT_GT(again.usage.loaded_tokens, kPageTokens);
    EXPECT_EQ(again.usage.loaded_tokens + again.usage.prefilled_tokens, kSelectingTokens + 9);
  }
}

TEST_F(SchedulerSelectReaders, a_damaged_page_is_computed_again_in_the_same_mode) {
  const uint64_t number = world_->post(long_request(1));
  Random random(testing::test_seed());
  int flips = 0;
  for (int step = 0; step < 100'000 && world_->pump(1) > 0; ++step) {
    if (step % 3 == 0 && damage_leased_page(random)) ++flips;
  }
  EXPECT_GT(flips, 3);
  EXPECT_EQ(result(number), expected(1));
  EXPECT_GT(world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{})).disk->pages_bad, 0);
}

// Another request computes a part of the same prompt meanwhile.
TEST_F(SchedulerSelectReaders, can_catch_up_and_keep_their_indexes) {
  start(1000, 24);
  wire::GenerateRequest reader = request_in(kMode, random_tokens(28 * kPageTokens, 8), 4);
  const uint64_t number = world_->post(reader);
  world_->pump(20);
  wire::GenerateRequest shorter = reader;
  shorter.prompt_token_ids.resize(20 * kPageTokens);
  const uint64_t other = world_->post(shorter);
  world_->pump();
  EXPECT_EQ(result(number), bits_alone(reader));
  EXPECT_EQ(result(other), bits_alone(shorter));
}

TEST_F(SchedulerSelectReaders, can_be_cancelled_at_any_step) {
  for (size_t steps = 20; steps < 80; steps += 15) {
    const uint64_t number = world_->post(long_request(1));
    world_->pump(steps);
    if (world_->all<wire::Final>(number).empty()) {
      world_->send(wire::CancelRequest{testing::request_id(number)});
    }
    EXPECT_EQ(world_->all<wire::Final>(number).size(), 1u);
  }
  EXPECT_EQ(result(world_->send(long_request(1))), expected(1));
}

TEST_F(SchedulerSelectReaders, that_fit_neither_memory_nor_disk_are_refused_at_once) {
  constexpr int64_t kDiskPages = 20, kDiskTokens = kDiskPages * kPageTokens;
  disk_limits_.page_bytes = 100;
  disk_limits_.bytes_max = kDiskPages * 100;
  start(1000, kMemoryPagesOfReader);
  const uint64_t number = world_->send(request_in(kMode, random_tokens(kDiskTokens, 1), 4));
  const auto refused = world_->one<wire::ErrorReply>(number);
  EXPECT_EQ(refused.error.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.context_tokens_max, kDiskTokens);
  EXPECT_NE(refused.error.message.find("room on disk"), std::string::npos) << refused.error.message;
}

TEST_F(SchedulerSelectReaders, without_a_disk_must_fit_memory) {
  SchedulerWorld world({}, kMemoryPagesOfReader);
  const Error error = world.error(world.send(long_request(1)));
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_NE(error.message.find("--kv-memory"), std::string::npos) << error.message;
}

TEST_F(SchedulerSelectReaders, an_answer_goes_on_where_memory_ends_if_there_is_a_disk) {
  const wire::GenerateRequest request = request_in(kMode, random_tokens(7 * kPageTokens, 9), 90);
  EXPECT_EQ(answer(request).usage.completion_tokens, 90);
  SchedulerWorld without_disk({}, kMemoryPagesOfReader);
  const auto final = without_disk.one<wire::Final>(without_disk.send(request));
  EXPECT_EQ(final.finish_reason, "length");
  EXPECT_EQ(final.usage.completion_tokens, kPageTokens);
}

}  // namespace
}  // namespace cascade
