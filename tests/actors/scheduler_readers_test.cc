// Requests that are longer than the KV memory: they get the tokens and log-probabilities of a
// daemon whose memory holds everything, bit for bit, whatever happens meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "base/random.h"
#include "tests/actors/disk_budget_world.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::SchedulerWorld;

constexpr size_t kMemoryPages = 8;
// With the answer three times the memory; eight times in long tests.
const int64_t kReaderTokens = testing::long_or(8, 3) * int64_t{kMemoryPages} * kPageTokens - 100;
constexpr int32_t kAnswerTokens = 80;

// What a request gave.
struct Outcome {
  std::vector<int32_t> tokens;
  std::vector<uint32_t> logprobs;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const wire::Final& final) {
  Outcome outcome;
  outcome.tokens = final.token_ids;
  for (const float logprob : final.logprobs) {
    outcome.logprobs.push_back(std::bit_cast<uint32_t>(logprob));
  }
  return outcome;
}

wire::GenerateRequest reader_request(int32_t seed, int64_t tokens = kReaderTokens,
                                     int32_t answer = kAnswerTokens) {
  wire::GenerateRequest request;
  Random random(static_cast<uint64_t>(seed));
  for (int64_t i = 0; i < tokens; ++i) {
    request.prompt_token_ids.push_back(static_cast<int32_t>(300 + random.below(2000)));
  }
  request.sampling.temperature = 0;
  request.max_tokens = answer;
  request.ignore_eos = true;
  request.logprobs = true;
  return request;
}

// The outcome with all pages in memory.
const Outcome& expected(int32_t seed) {
  static std::map<int32_t, Outcome> known;
  if (!known.contains(seed)) {
    SchedulerWorld world;
    known[seed] = outcome_of(world.one<wire::Final>(world.send(reader_request(seed))));
    EXPECT_EQ(known[seed].tokens.size(), static_cast<size_t>(kAnswerTokens));
  }
  return known[seed];
}

class SchedulerReaders : public testing::DiskBudgetWorld {
 protected:
  void SetUp() override { start(1000, kMemoryPages); }
  Outcome result(uint64_t number) { return outcome_of(world_->one<wire::Final>(number)); }
};

TEST_F(SchedulerReaders, a_context_of_eight_times_the_memory_has_the_bits_of_one_in_memory) {
  constexpr int64_t kTokens = 8 * int64_t{kMemoryPages} * kPageTokens - 30;
  const wire::GenerateRequest request = reader_request(1, kTokens, 30);
  const uint64_t number = world_->send(request);
  SchedulerWorld in_memory;
  EXPECT_TRUE(result(number) == outcome_of(in_memory.one<wire::Final>(in_memory.send(request))));
  EXPECT_EQ(world_->one<wire::Final>(number).usage.prefilled_tokens, kTokens);
}

TEST_F(SchedulerReaders, two_at_once_do_not_disturb_each_other) {
  const uint64_t first = world_->post(reader_request(1));
  const uint64_t second = world_->post(reader_request(2));
  world_->pump();
  EXPECT_TRUE(result(first) == expected(1));
  EXPECT_TRUE(result(second) == expected(2));
}

TEST_F(SchedulerReaders, the_next_request_reads_what_the_first_one_computed) {
  world_->send(reader_request(1));
  const uint64_t again = world_->send(reader_request(1));
  EXPECT_TRUE(result(again) == expected(1));
  EXPECT_LT(world_->one<wire::Final>(again).usage.prefilled_tokens, 2 * kPageTokens);
}

TEST_F(SchedulerReaders, a_killed_daemon_goes_on_from_what_is_on_disk) {
  for (const size_t steps : {12, 25}) {
    SCOPED_TRACE(steps);
    start(1000, kMemoryPages);
    world_->post(reader_request(3));
    world_->pump(steps);
    start(1000, kMemoryPages);
    const uint64_t again = world_->send(reader_request(3));
    EXPECT_TRUE(result(again) == expected(3));
    const wire::Usage usage = world_->one<wire::Final>(again).usage;
    EXPECT_GT(usage.loaded_tokens, kPageTokens);
    EXPECT_EQ(usage.loaded_tokens + usage.prefilled_tokens, kReaderTokens);
  }
}

TEST_F(SchedulerReaders, short_requests_are_answered_beside_a_long_one) {
  const uint64_t number = world_->post(reader_request(1));
  world_->pump(8);
  for (int32_t seed = 10; seed < 12; ++seed) {
    const wire::GenerateRequest request = reader_request(seed, 150, 4);
    const uint64_t quick = world_->post(request);
    while (world_->all<wire::Final>(quick).empty() && world_->pump(1) > 0) {
    }
    SchedulerWorld alone;
    EXPECT_TRUE(result(quick) == outcome_of(alone.one<wire::Final>(alone.send(request))));
  }
  EXPECT_TRUE(world_->all<wire::Final>(number).empty());
  world_->pump();
  EXPECT_TRUE(result(number) == expected(1));
}

TEST_F(SchedulerReaders, a_damaged_page_is_computed_again_and_nothing_else) {
  const uint64_t number = world_->post(reader_request(1));
  Random random(testing::test_seed());
  std::set<uint64_t> damaged;
  int flips = 0;
  for (int step = 0; step < 100'000 && world_->pump(1) > 0; ++step) {
    if (step % 3 != 0) continue;
    const auto page = damage_leased_page(random);
    if (page && damaged.insert(*page).second) ++flips;
  }
  EXPECT_GT(flips, 5);
  EXPECT_TRUE(result(number) == expected(1));
  EXPECT_GT(world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{})).disk->pages_bad, 0);
}

TEST_F(SchedulerReaders, a_damaged_page_cuts_a_load_short_and_the_rest_is_adopted) {
  for (const size_t page : {0, 1, 12}) {
    SCOPED_TRACE(page);
    stop();
    disk_ = testing::MemoryDisk();
    start(1000, kMemoryPages);
    world_->send(reader_request(1));
    stop();
    const std::string file = std::string(testing::kStateDir) + "/kv/00000001.kv";
    std::vector<uint8_t>& bytes = disk_.bytes(file);
    // The page's header names its place; the first part follows it.
    size_t at = 4096;
    for (size_t i = 0; i < page; ++i) {
      const auto header =
          decode_kv_page_header(std::span(bytes).subspan(at, 4096),
                                *kv_page_file_id(std::span(bytes).subspan(at, 4096), at), at);
      ASSERT_TRUE(header.has_value());
      at += header->record_bytes();
    }
    bytes[at + 4096 + 7] ^= 1;
    start(1000, kMemoryPages);
    const uint64_t again = world_->send(reader_request(1));
    EXPECT_TRUE(result(again) == expected(1));
    EXPECT_LT(world_->one<wire::Final>(again).usage.prefilled_tokens, 12 * kPageTokens);
  }
}

TEST_F(SchedulerReaders, slices_that_read_the_disk_do_not_count_for_other_prompts) {
  int slices = 0;
  world_->tamper = [&](wire::Message& answer) {
    if (auto* prefill = std::get_if<wire::PrefillDone>(&answer)) {
      ++slices;
      prefill->compute_us = 1'000'000;
      prefill->read_bytes = 1'000'000;
      prefill->read_us = prefill->read_wait_us = 900'000;
    }
  };
  world_->send(reader_request(1));
  EXPECT_GT(slices, 3);
  EXPECT_EQ(world_->status().prefill_tokens_per_s, 0);
  world_->tamper = nullptr;
  world_->send(reader_request(2, 200, 4));
  EXPECT_GT(world_->status().prefill_tokens_per_s, 0);
}

TEST_F(SchedulerReaders, prompts_that_fit_neither_memory_nor_disk_are_refused_at_once) {
  constexpr int64_t kDiskPages = 20, kDiskTokens = kDiskPages * kPageTokens;
  disk_limits_.page_bytes = 100;
  disk_limits_.bytes_max = kDiskPages * 100;
  start(1000, kMemoryPages);
  const uint64_t number = world_->send(reader_request(1, kDiskTokens));
  const auto refused = world_->one<wire::ErrorReply>(number);
  EXPECT_EQ(refused.error.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error.field, "prompt_token_ids");
  EXPECT_EQ(refused.context_tokens_max, kDiskTokens);
  EXPECT_EQ(refused.error.message,
            "This daemon has KV memory (--kv-memory) for 512 tokens, and room on disk (--max-disk "
            "and free space) for 1280 tokens: the maximum context length is 1280 tokens. However, "
            "your prompt has 1280 tokens, and an answer takes at least one more. Please reduce the "
            "length of the prompt.");
  EXPECT_EQ(world_->status().tokens_prefilled, 0);
  EXPECT_EQ(world_->status().sequence_tokens_max, kDiskTokens);
  // An answer is cut to what there is room for.
  const uint64_t cut = world_->send(reader_request(1, kDiskTokens - 5, 80));
  EXPECT_EQ(world_->one<wire::Final>(cut).finish_reason, "length");
  EXPECT_EQ(result(cut).tokens.size(), 5u);
}

TEST_F(SchedulerReaders, a_disk_with_less_room_than_memory_cuts_no_answer) {
  disk_limits_.page_bytes = 100;
  disk_limits_.bytes_max = 6 * 100;
  start(1000, kMemoryPages);
  const uint64_t number = world_->send(reader_request(1, 300, 600));
  EXPECT_EQ(result(number).tokens.size(), kMemoryPages * kPageTokens - 300);
}

// A request that fits memory computes more of the reader's prompt than the reader has working
// pages.
TEST_F(SchedulerReaders, can_catch_up_with_more_pages_than_they_may_keep) {
  start(1000, 48);
  const wire::GenerateRequest reader = reader_request(1, 48 * kPageTokens + 200, 4);
  const uint64_t number = world_->post(reader);
  world_->pump(6);
  wire::GenerateRequest shorter = reader;
  shorter.prompt_token_ids.resize(40 * kPageTokens);
  const uint64_t other = world_->post(shorter);
  world_->pump();
  SchedulerWorld in_memory;
  EXPECT_TRUE(result(number) == outcome_of(in_memory.one<wire::Final>(in_memory.send(reader))));
  EXPECT_TRUE(result(other) == outcome_of(in_memory.one<wire::Final>(in_memory.send(shorter))));
}

TEST_F(SchedulerReaders, beside_too_many_pins_are_refused) {
  start(1000, kMemoryPages, /*max_pinned=*/0.9);
  wire::GenerateRequest pinned = reader_request(4, 5 * kPageTokens, 20);
  pinned.retain_output = true;
  pinned.output_pinned = true;
  world_->one<wire::Final>(world_->send(pinned));
  const uint64_t number = world_->send(reader_request(1));
  EXPECT_EQ(world_->one<wire::ErrorReply>(number).error.code, ErrorCode::kResourceExhausted);
}

TEST_F(SchedulerReaders, a_full_disk_ends_the_request_with_an_error_and_nothing_else) {
  start(10, kMemoryPages);
  const uint64_t number = world_->post(reader_request(1));
  const uint64_t other = world_->post(reader_request(10, 150, 20));
  world_->pump();
  const Error error = world_->error(number);
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_NE(error.message.find("longer than the KV memory"), std::string::npos) << error.message;
  EXPECT_EQ(result(other).tokens.size(), 20u);
  // What fits is served as before.
  EXPECT_EQ(result(world_->send(reader_request(11, 150, 20))).tokens.size(), 20u);
}

TEST_F(SchedulerReaders, a_repeated_prompt_does_not_keep_the_disk_from_others) {
  constexpr int64_t kPages = 3 * kMemoryPages;
  start(kPages + 2, kMemoryPages);
  for (int i = 0; i < 2; ++i) {
    const uint64_t number = world_->send(reader_request(1, kPages * kPageTokens - 90, 4));
    EXPECT_EQ(result(number).tokens.size(), 4u);
  }
  const wire::GenerateRequest request = reader_request(2, kPages * kPageTokens - 90, 4);
  const uint64_t other = world_->send(request);
  SchedulerWorld in_memory;
  EXPECT_TRUE(result(other) == outcome_of(in_memory.one<wire::Final>(in_memory.send(request))));
}

TEST_F(SchedulerReaders, a_short_prompt_comes_before_the_rest_of_a_long_one) {
  int slices = 0;
  world_->tamper = [&](wire::Message& answer) {
    auto* prefill = std::get_if<wire::PrefillDone>(&answer);
    if (prefill == nullptr) return;
    ++slices;
    prefill->compute_us = 1'000'000;
    world_->clock.advance_us(1'000'000);
  };
  world_->send(reader_request(3, 100, 1));  // the speed is known
  const uint64_t reader = world_->post(reader_request(1));
  while (slices < 12) ASSERT_GT(world_->pump(1), 0u);
  const uint64_t quick = world_->post(reader_request(2, 100, 1));
  while (world_->all<wire::Final>(quick).empty() && world_->pump(1) > 0) {
  }
  EXPECT_TRUE(world_->all<wire::Final>(reader).empty());
  world_->pump();
  EXPECT_TRUE(result(reader) == expected(1));
}

TEST_F(SchedulerReaders, can_be_cancelled_at_any_step) {
  for (size_t steps = 0; steps < 50; steps += 4) {
    const uint64_t number = world_->post(reader_request(1));
    world_->pump(steps);
    const bool ended = !world_->all<wire::Final>(number).empty();
    if (!ended) world_->send(wire::CancelRequest{testing::request_id(number)});
    EXPECT_EQ(world_->one<wire::Final>(number).finish_reason, ended ? "length" : "cancelled");
  }
  EXPECT_TRUE(result(world_->send(reader_request(1))) == expected(1));
}

}  // namespace
}  // namespace cascade
