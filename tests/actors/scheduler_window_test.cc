// Requests whose attention has a window: their memory stays flat, only requests of the same mode
// find what they compute, and what is deleted is forgotten in every mode.
#include <gtest/gtest.h>

#include <vector>

#include "tests/actors/attention_requests.h"

namespace cascade {
namespace {

using testing::Actor;
using testing::bits_of;
using testing::cache_stats;
using testing::expected_tokens;
using testing::random_tokens;
using testing::request_in;
using testing::SchedulerWorld;

constexpr char kWindow[] = "window:128:64";
constexpr size_t kFewPages = 18;

class SchedulerWindow : public testing::AttentionWorld {
 protected:
  void SetUp() override { start(1000, kFewPages); }
};

TEST_F(SchedulerWindow, the_tokens_are_those_of_a_transformer_with_all_pages) {
  const wire::GenerateRequest request = request_in(kWindow, random_tokens(900, 1));
  const wire::Final final = answer(request);
  EXPECT_EQ(final.attention, kWindow);
  EXPECT_EQ(final.token_ids, expected_tokens(request));
}

TEST_F(SchedulerWindow, a_prompt_of_four_times_the_memory_has_the_bits_of_one_with_all_in_memory) {
  const wire::GenerateRequest request =
      request_in(kWindow, random_tokens(4 * int64_t{kFewPages} * kPageTokens, 2), 30);
  const wire::Final final = answer(request);
  EXPECT_EQ(bits_of(final), bits_alone(request));
  EXPECT_EQ(final.usage.completion_tokens, 30);
  EXPECT_LE(world_->status().kv_pages_used, 8) << "memory stays flat";
  EXPECT_EQ(world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{})).disk->pages, 0)
      << "what is approximate is not written";
}

TEST_F(SchedulerWindow, requests_of_other_modes_and_tenants_find_nothing) {
  start(1000, 80);
  const std::vector<int32_t> prompt = random_tokens(300, 3);
  EXPECT_EQ(answer(request_in(kWindow, prompt)).usage.reused_tokens, 0);
  EXPECT_EQ(answer(request_in("", prompt)).usage.reused_tokens, 0);
  EXPECT_EQ(answer(request_in("window:192:64", prompt)).usage.reused_tokens, 0);
  EXPECT_EQ(answer(request_in("window:128:0", prompt)).usage.reused_tokens, 0);
  EXPECT_EQ(answer(request_in(kWindow, prompt)).usage.reused_tokens, 299);
  EXPECT_EQ(answer(request_in("dense", prompt)).usage.reused_tokens, 299);
  world_->core().on_actor_started(Actor::kGateway, "alice");
  const uint64_t other = world_->send_as("alice", request_in(kWindow, prompt));
  EXPECT_EQ(world_->one<wire::Final>(other).usage.reused_tokens, 0);
}

TEST_F(SchedulerWindow, the_answer_of_a_dense_request_is_not_changed_by_windowed_ones) {
  const std::vector<int32_t> prompt = random_tokens(700, 4);
  const auto expected = bits_alone(request_in("", prompt));
  const uint64_t windowed = world_->post(request_in(kWindow, prompt));
  const uint64_t dense = world_->post(request_in("", prompt));
  world_->pump();
  EXPECT_EQ(bits_of(world_->one<wire::Final>(dense)), expected);
  EXPECT_NE(bits_of(world_->one<wire::Final>(windowed)), expected);
}

TEST_F(SchedulerWindow, the_next_turn_goes_on_where_the_last_one_ended) {
  std::vector<int32_t> prompt = random_tokens(int64_t{kFewPages} * kPageTokens + 100, 5);
  for (int turn = 0; turn < 3; ++turn) {
    const wire::Final final = answer(request_in(kWindow, prompt, 40));
    const int64_t most = turn == 0 ? std::ssize(prompt) : 100;
    EXPECT_LE(final.usage.prefilled_tokens, most) << turn;
    EXPECT_EQ(bits_of(final), bits_alone(request_in(kWindow, prompt, 40)));
    prompt.insert(prompt.end(), final.token_ids.begin(), final.token_ids.end());
    const std::vector<int32_t> question = random_tokens(50, 100 + static_cast<uint64_t>(turn));
    prompt.insert(prompt.end(), question.begin(), question.end());
  }
}

TEST_F(SchedulerWindow, several_at_once_do_not_disturb_each_other) {
  std::vector<uint64_t> numbers;
  for (uint64_t seed = 6; seed < 9; ++seed) {
    numbers.push_back(world_->post(request_in(kWindow, random_tokens(700, seed), 30)));
  }
  world_->pump();
  for (uint64_t seed = 6; seed < 9; ++seed) {
    const auto request = request_in(kWindow, random_tokens(700, seed), 30);
    EXPECT_EQ(bits_of(world_->one<wire::Final>(numbers[seed - 6])), bits_alone(request));
  }
}

TEST_F(SchedulerWindow, a_retained_output_is_reused_in_its_mode_and_gone_when_it_is_deleted) {
  for (const bool dense_too : {false, true}) {
    start(1000, 60);
    wire::GenerateRequest first = request_in(kWindow, random_tokens(1000, 10), 40);
    first.retain_output = true;
    const wire::Final final = answer(first);
    ASSERT_NE(final.output_chunk_id, "");
    EXPECT_EQ(world_->chunk(final.output_chunk_id).kv_state, KvState::kReady);
    std::vector<int32_t> next = first.prompt_token_ids;
    next.insert(next.end(), final.token_ids.begin(), final.token_ids.end());
    EXPECT_GE(answer(request_in(kWindow, next, 1)).usage.reused_tokens, std::ssize(next) - 2);
    if (dense_too) answer(request_in("", next, 1));
    world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{final.output_chunk_id}));
    EXPECT_EQ(answer(request_in(kWindow, next, 1)).usage.reused_tokens, 0);
    EXPECT_EQ(answer(request_in("", next, 1)).usage.reused_tokens, 0);
  }
}

TEST_F(SchedulerWindow, the_daemon_has_a_mode_for_requests_that_name_none) {
  SchedulerOptions options;
  options.attention = {128, 64};
  SchedulerWorld world(options);
  const std::vector<int32_t> prompt = random_tokens(400, 11);
  const wire::Final windowed = world.one<wire::Final>(world.send(request_in("", prompt)));
  EXPECT_EQ(windowed.attention, kWindow);
  const wire::Final dense = world.one<wire::Final>(world.send(request_in("dense", prompt)));
  EXPECT_EQ(dense.attention, "dense");
  EXPECT_EQ(dense.usage.reused_tokens, 0);
  EXPECT_EQ(bits_of(dense), bits_of(answer(request_in("", prompt))));
}

TEST_F(SchedulerWindow, requests_with_the_same_prompt_share_it_and_all_get_their_pages) {
  const std::vector<int32_t> prompt = random_tokens(400, 20);
  std::vector<uint64_t> numbers;
  for (int i = 0; i < 4; ++i) {
    wire::GenerateRequest request = request_in(kWindow, prompt, 100);
    request.sampling.temperature = 1;
    request.sampling.seed = static_cast<uint64_t>(i);
    numbers.push_back(world_->post(request));
  }
  world_->pump();
  for (const uint64_t number : numbers) {
    const wire::Final final = world_->one<wire::Final>(number);
    EXPECT_EQ(final.usage.completion_tokens, 100);
    wire::GenerateRequest request = request_in(kWindow, prompt, 100);
    request.sampling.temperature = 1;
    request.sampling.seed = final.seed;
    EXPECT_EQ(bits_of(final), bits_alone(request));
  }
}

TEST_F(SchedulerWindow, a_preempted_request_goes_on_with_the_same_bits) {
  expect_preempted_request_goes_on(kWindow, 400, 200, /*pages=*/40, /*steps=*/8);
}

TEST_F(SchedulerWindow, a_pinned_output_keeps_what_its_end_sees) {
  start(1000, 60);
  wire::GenerateRequest first = request_in(kWindow, random_tokens(1000, 40), 40);
  first.retain_output = true;
  const wire::Final final = answer(first);
  wire::ChunkUpdate pin;
  pin.id = final.output_chunk_id;
  pin.pinned = true;
  const auto reply = world_->one<wire::ChunkReply>(world_->send(pin));
  EXPECT_EQ(reply.chunk.kv_state, KvState::kReady);
  EXPECT_LE(cache_stats(*world_).pages_pinned, 4);
  answer(request_in("", random_tokens(3000, 41), 1));  // needs most of the memory
  std::vector<int32_t> next = first.prompt_token_ids;
  next.insert(next.end(), final.token_ids.begin(), final.token_ids.end());
  EXPECT_GE(answer(request_in(kWindow, next, 1)).usage.reused_tokens, std::ssize(next) - 2);
}

TEST_F(SchedulerWindow, an_output_that_is_pinned_from_the_start_needs_only_what_its_end_sees) {
  start(1000, 30, /*max_pinned=*/0.3);
  wire::GenerateRequest request = request_in(kWindow, random_tokens(1500, 45), 40);
  request.retain_output = true;
  request.output_pinned = true;
  const wire::Final final = answer(request);
  EXPECT_EQ(world_->chunk(final.output_chunk_id).kv_state, KvState::kReady);
  const wire::CacheStats stats = cache_stats(*world_);
  EXPECT_GT(stats.pages_pinned, 0);
  EXPECT_EQ(stats.pages_pin_promised, 0);
}

TEST_F(SchedulerWindow, the_same_answer_in_two_modes_is_two_outputs) {
  start(1000, 60);
  std::vector<std::string> ids;
  for (const char* mode : {kWindow, "window:4096:64", "dense"}) {
    // So short that the window hides nothing: the answers are the same.
    wire::GenerateRequest request = request_in(mode, random_tokens(20, 46), 5);
    request.retain_output = true;
    ids.push_back(answer(request).output_chunk_id);
  }
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[1], ids[2]);
}

TEST_F(SchedulerWindow, prefixes_have_the_daemons_mode) {
  SchedulerOptions options;
  options.attention = {128, 64};
  SchedulerWorld world(options, 40);
  wire::PrefixCache prefix;
  prefix.prompt = testing::long_text("prefix", 200);
  const auto kept = world.one<wire::PrefixReply>(world.send(prefix));
  EXPECT_LE(cache_stats(world).pages_pinned, 5);
  world.one<wire::Final>(world.send(request_in("dense", random_tokens(2000, 50), 1)));
  const auto final = world.one<wire::Final>(
      world.send(testing::prompt_request(*prefix.prompt + " and more words", 20)));
  EXPECT_GE(final.usage.reused_tokens, kept.tokens - 1);
  EXPECT_EQ(final.attention, kWindow);
}

TEST_F(SchedulerWindow, a_pinned_system_prompt_has_the_daemons_mode) {
  SchedulerOptions options;
  options.attention = {128, 64};
  SchedulerWorld world(options, 60);
  wire::ChunkPut put{ChunkType::kSystemPrompt, town_rules()};
  put.pinned = true;
  const Chunk chunk = world.one<wire::ChunkReply>(world.send(put)).chunk;
  EXPECT_EQ(world.chunk(chunk.id).kv_state, KvState::kReady);
  const auto final =
      world.one<wire::Final>(world.send(ask_for_town({ChunkType::kSystemPrompt, chunk.id, ""})));
  EXPECT_GE(final.usage.reused_tokens, world.chunk(chunk.id).kv_tokens);
}

TEST_F(SchedulerWindow, nothing_of_a_deleted_text_is_found_although_its_pages_were_given_up) {
  for (const size_t steps : {SIZE_MAX, size_t{7}}) {  // after the request, or while it runs
    start(1000, 60);
    const wire::ChunkPut put{ChunkType::kContext, testing::long_text("secret", 100)};
    const std::string id = world_->one<wire::ChunkReply>(world_->send(put)).chunk.id;
    const std::string question = testing::long_text("question", 120);
    wire::GenerateRequest request =
        testing::ask({{ChunkType::kContext, id, ""}, testing::query_text(question)});
    request.attention = kWindow;
    request.max_tokens = 10;
    world_->post(request);
    world_->pump(steps);
    const wire::StatusReply status = world_->status_now();
    EXPECT_LE(world_->one<wire::ChunkReply>(world_->post(wire::ChunkGet{id})).chunk.kv_bytes,
              status.kv_bytes_used)
        << "pages that were given up do not count";
    world_->send(wire::ChunkDelete{id, "", true});
    request.chunks = {testing::query_text(put.text + "\n\n" + question)};
    EXPECT_LT(answer(request).usage.reused_tokens, kPageTokens);
    EXPECT_GE(answer(request).usage.reused_tokens, 2 * kPageTokens) << "it is the same prompt";
  }
}

TEST_F(SchedulerWindow, a_pinned_output_is_computed_again_after_a_restart_when_it_is_asked_for) {
  start(1000, 80);
  wire::GenerateRequest first = testing::ask({testing::query_text("What is the capital of Peru?")});
  first.attention = kWindow;
  first.retain_output = true;
  first.output_pinned = true;
  first.max_tokens = 20;
  const wire::Final final = answer(first);
  start(1000, 80);
  EXPECT_EQ(cache_stats(*world_).pages_pinned, 0);
  wire::GenerateRequest next = testing::ask(
      {testing::output_ref(final.output_chunk_id), testing::query_text("And of Chile?")});
  next.attention = kWindow;
  next.max_tokens = 5;
  answer(next);
  EXPECT_EQ(world_->chunk(final.output_chunk_id).kv_state, KvState::kReady);
  EXPECT_GT(cache_stats(*world_).pages_pinned, 0);
  EXPECT_EQ(world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{})).disk->pages, 0);
}

TEST_F(SchedulerWindow, bad_modes_are_refused_by_name) {
  for (const char* mode : {"windows", "window:", "window:63", "window:128:-1", "", "dense:1"}) {
    wire::GenerateRequest request = request_in("", {1, 2, 3});
    request.attention = mode;
    const Error error = world_->error(world_->send(request));
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << mode;
    EXPECT_EQ(error.field, "attention") << mode;
  }
}

TEST_F(SchedulerWindow, a_window_that_memory_has_no_room_for_is_refused) {
  const auto request = request_in("window:4096:64", random_tokens(1500, 12));
  const Error error = world_->error(world_->send(request));
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(error.field, "attention");
}

TEST_F(SchedulerWindow, a_sequence_may_be_as_long_as_the_context_if_its_window_fits_memory) {
  SchedulerOptions options;
  options.attention = {128, 64};
  SchedulerWorld small(options, kFewPages);
  EXPECT_EQ(small.status().sequence_tokens_max, testing::demo_model().config.context_tokens_max);
  options.attention = {2048, 64};
  SchedulerWorld smaller(options, kFewPages);
  EXPECT_EQ(smaller.status().sequence_tokens_max, int64_t{kFewPages} * kPageTokens);
}

TEST_F(SchedulerWindow, a_tenant_may_use_only_so_many_windows) {
  const std::vector<int32_t> prompt = {300, 301, 302};
  for (size_t i = 0; i < Tenants::kModesMax; ++i) {
    const std::string mode = "window:" + std::to_string(100 + i);
    EXPECT_EQ(answer(request_in(mode, prompt, 1)).attention, mode + ":64");
  }
  const uint64_t number = world_->send(request_in("window:99", prompt, 1));
  EXPECT_EQ(world_->error(number).code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(answer(request_in("window:100", prompt, 1)).finish_reason, "length");
  EXPECT_EQ(answer(request_in("dense", prompt, 1)).finish_reason, "length");
}

}  // namespace
}  // namespace cascade
