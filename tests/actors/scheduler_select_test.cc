// Requests that select pages: their answers are the model's, whatever happens in between; only
// requests of the same mode find what they compute, in memory and on disk.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/actors/attention_requests.h"

namespace cascade {
namespace {

using testing::Actor;
using testing::bits_of;
using testing::cache_stats;
using testing::expected_tokens;
using testing::kFirstSelecting;
using testing::random_tokens;
using testing::request_in;
using testing::SchedulerWorld;

constexpr char kSelect[] = "select:64:0";
// Pages for two sequences that select.
constexpr size_t kSelectPages = 44;

class SchedulerSelect : public testing::AttentionWorld {
 protected:
  void SetUp() override { start(1000, kSelectPages); }
  int64_t pages_on_disk() {
    return world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{})).disk->pages;
  }
};

TEST_F(SchedulerSelect, the_tokens_are_those_of_a_transformer_with_all_pages) {
  const wire::GenerateRequest request =
      request_in(kSelect, random_tokens(kFirstSelecting + 200, 1), 70);
  const wire::Final final = answer(request);
  EXPECT_EQ(final.attention, kSelect);
  EXPECT_EQ(final.token_ids, expected_tokens(request));
  EXPECT_NE(final.token_ids, expected_tokens(request_in("dense", request.prompt_token_ids, 70)));
}

// The last sampled token is not computed.
TEST_F(SchedulerSelect, the_tokens_that_selected_are_counted) {
  const wire::Final final =
      answer(request_in(kSelect, random_tokens(kFirstSelecting + 200, 2), 70));
  EXPECT_EQ(final.usage.selected_tokens, 200 + 69);
  EXPECT_EQ(world_->status().tokens_selected, 200 + 69);
  EXPECT_EQ(
      answer(request_in("dense", random_tokens(kFirstSelecting + 200, 2), 5)).usage.selected_tokens,
      0);
  EXPECT_EQ(world_->status().tokens_selected, 200 + 69);
}

TEST_F(SchedulerSelect, a_sequence_with_few_pages_has_the_bits_of_a_dense_one) {
  const std::vector<int32_t> prompt = random_tokens(kFirstSelecting - 70, 3);
  const wire::Final final = answer(request_in(kSelect, prompt));
  EXPECT_EQ(final.usage.selected_tokens, 0);
  EXPECT_EQ(bits_of(final), bits_of(answer(request_in("dense", prompt))));
}

TEST_F(SchedulerSelect, requests_of_other_modes_and_tenants_find_nothing) {
  start(1000, 200);
  const std::vector<int32_t> prompt = random_tokens(300, 4);
  EXPECT_EQ(answer(request_in(kSelect, prompt)).usage.reused_tokens, 0);
  EXPECT_EQ(answer(request_in("", prompt)).usage.reused_tokens, 0);
  EXPECT_EQ(answer(request_in("select:128", prompt)).usage.reused_tokens, 0);
  EXPECT_EQ(answer(request_in("select:64:1", prompt)).usage.reused_tokens, 0);
  EXPECT_EQ(answer(request_in("window:64:0", prompt)).usage.reused_tokens, 0);
  EXPECT_EQ(answer(request_in("select:64", prompt)).usage.reused_tokens, 299);
  world_->core().on_actor_started(Actor::kGateway, "alice");
  const uint64_t other = world_->send_as("alice", request_in(kSelect, prompt));
  EXPECT_EQ(world_->one<wire::Final>(other).usage.reused_tokens, 0);
}

// Published pages are dense.
TEST_F(SchedulerSelect, published_pages_are_not_found) {
  const std::string id = publish(town_rules());
  wire::GenerateRequest request = ask_for_town({ChunkType::kSystemPrompt, id, ""});
  EXPECT_GT(answer(request).usage.reused_tokens, 0);
  request.attention = kSelect;
  const wire::Final final = answer(request);
  EXPECT_EQ(final.usage.reused_tokens, 0);
  EXPECT_EQ(final.usage.miss.reason, MissReason::kNew);
  EXPECT_GT(answer(request).usage.reused_tokens, 0) << "its own pages";
}

TEST_F(SchedulerSelect, the_next_turn_reuses_the_last_one_and_selects_among_its_pages) {
  std::vector<int32_t> prompt = random_tokens(kFirstSelecting + 30, 5);
  for (int turn = 0; turn < 3; ++turn) {
    const wire::GenerateRequest request = request_in(kSelect, prompt, 40);
    const wire::Final final = answer(request);
    EXPECT_LE(final.usage.prefilled_tokens, turn == 0 ? std::ssize(prompt) : 51) << turn;
    EXPECT_EQ(bits_of(final), bits_alone(request)) << turn;
    prompt.insert(prompt.end(), final.token_ids.begin(), final.token_ids.end());
    const std::vector<int32_t> question = random_tokens(50, 100 + static_cast<uint64_t>(turn));
    prompt.insert(prompt.end(), question.begin(), question.end());
  }
}

// A prompt that goes on from the middle of a page copies the page. Its index is made anew.
TEST_F(SchedulerSelect, a_prompt_that_ends_otherwise_goes_on_from_a_part_of_a_page) {
  std::vector<int32_t> prompt = random_tokens(kFirstSelecting + 130, 6);
  answer(request_in(kSelect, prompt, 1));
  prompt.resize(3 * kPageTokens + 20);
  const std::vector<int32_t> other = random_tokens(kFirstSelecting, 7);
  prompt.insert(prompt.end(), other.begin(), other.end());
  const wire::GenerateRequest request = request_in(kSelect, prompt, 40);
  const wire::Final final = answer(request);
  EXPECT_EQ(final.usage.reused_tokens, 3 * kPageTokens + 20);
  EXPECT_EQ(bits_of(final), bits_alone(request));
}

TEST_F(SchedulerSelect, several_at_once_with_and_without_selection_do_not_disturb_each_other) {
  start(1000, 100);
  std::vector<wire::GenerateRequest> requests;
  for (const char* mode : {kSelect, "dense", "select:128:1", "window:128:64"}) {
    requests.push_back(request_in(mode, random_tokens(kFirstSelecting + 150, 8), 30));
  }
  std::vector<uint64_t> numbers;
  for (const auto& request : requests) numbers.push_back(world_->post(request));
  world_->pump();
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(bits_of(world_->one<wire::Final>(numbers[i])), bits_alone(requests[i])) << i;
  }
}

// With pages for one and a half sequences, pages are evicted and computed again.
TEST_F(SchedulerSelect, with_little_memory_answers_have_the_same_bits) {
  start(1000, 32);
  std::map<uint64_t, wire::GenerateRequest> asked;
  for (uint64_t i = 0; i < 4; ++i) {
    auto request = request_in(kSelect, random_tokens(kFirstSelecting + 60, 10 + i % 2), 20);
    const std::vector<int32_t> end = random_tokens(60, 20 + i);
    request.prompt_token_ids.insert(request.prompt_token_ids.end(), end.begin(), end.end());
    asked[world_->post(request)] = request;
    world_->pump(3);
  }
  world_->pump();
  EXPECT_GT(world_->status().pages_evicted, 0);
  for (const auto& [number, request] : asked) {
    EXPECT_EQ(bits_of(world_->one<wire::Final>(number)), bits_alone(request));
  }
}

TEST_F(SchedulerSelect, a_preempted_request_goes_on_with_the_same_bits) {
  expect_preempted_request_goes_on(kSelect, kFirstSelecting + 20, 80, /*pages=*/90, /*steps=*/12);
}

TEST_F(SchedulerSelect, pages_are_found_on_disk_after_a_restart) {
  const wire::GenerateRequest request =
      request_in(kSelect, random_tokens(kFirstSelecting + 100, 40), 30);
  const wire::Final before = answer(request);
  const int64_t pages = pages_on_disk();
  EXPECT_EQ(pages, std::ssize(request.prompt_token_ids) / kPageTokens);
  start(1000, kSelectPages);
  const wire::Final after = answer(request);
  EXPECT_EQ(after.usage.loaded_tokens, pages * kPageTokens);
  EXPECT_EQ(bits_of(after), bits_of(before));
  for (const char* other : {"dense", "select:128", "select:64:1"}) {
    start(1000, kSelectPages);
    EXPECT_EQ(answer(request_in(other, request.prompt_token_ids, 1)).usage.reused_tokens, 0);
  }
}

TEST_F(SchedulerSelect, a_pinned_output_is_back_after_a_restart) {
  wire::GenerateRequest first = request_in(kSelect, random_tokens(kFirstSelecting + 60, 42), 20);
  first.retain_output = true;
  first.output_pinned = true;
  const wire::Final final = answer(first);
  start(1000, kSelectPages);
  EXPECT_EQ(world_->chunk(final.output_chunk_id).kv_state, KvState::kReady);
  EXPECT_GT(cache_stats(*world_).pages_pinned, 0);
  std::vector<int32_t> next = first.prompt_token_ids;
  next.insert(next.end(), final.token_ids.begin(), final.token_ids.end());
  const wire::GenerateRequest turn = request_in(kSelect, next, 10);
  const wire::Final again = answer(turn);
  EXPECT_GE(again.usage.reused_tokens, std::ssize(next) - 2);
  EXPECT_EQ(bits_of(again), bits_alone(turn));
}

TEST_F(SchedulerSelect, a_pinned_context_is_back_after_a_restart) {
  start(1000, 100);
  wire::ChunkPut put{ChunkType::kContext, testing::long_text("known", 300)};
  put.pinned = true;
  const std::string id = world_->one<wire::ChunkReply>(world_->send(put)).chunk.id;
  wire::GenerateRequest request =
      testing::ask({{ChunkType::kContext, id, ""}, testing::query_text("What is it about?")});
  request.attention = kSelect;
  request.max_tokens = 4;
  answer(request);
  const int64_t pinned = cache_stats(*world_).pages_pinned;
  EXPECT_GT(pinned, 4);
  start(1000, 100);
  EXPECT_EQ(cache_stats(*world_).pages_pinned, pinned);
  const wire::Final again = answer(request);
  EXPECT_GE(again.usage.reused_tokens, (pinned - 1) * kPageTokens);
  EXPECT_EQ(again.usage.loaded_tokens, 0) << "the start brought it into memory";
}

// A delete removes as much as it does with dense attention, also if nobody has used the mode since
// the restart.
TEST_F(SchedulerSelect, a_delete_after_a_restart_removes_pages_on_disk) {
  std::map<std::string, int64_t> removed;
  for (const char* mode : {"dense", kSelect}) {
    wire::GenerateRequest first = request_in(mode, random_tokens(1100, 43), 70);
    first.retain_output = true;
    const wire::Final final = answer(first);
    start(1000, kSelectPages);
    const int64_t before = pages_on_disk();
    world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{final.output_chunk_id}));
    removed[mode] = before - pages_on_disk();
  }
  EXPECT_GT(removed["dense"], 0);
  EXPECT_EQ(removed[kSelect], removed["dense"]);
}

// The pages of other modes are found by the output's tokens, in the chains of each of the tenant's
// owners.
TEST_F(SchedulerSelect, an_output_that_is_deleted_after_a_restart_is_found_in_no_mode) {
  start(1000, 100);
  wire::GenerateRequest first = request_in(kSelect, random_tokens(1100, 44), 70);
  first.retain_output = true;
  const wire::Final final = answer(first);
  std::vector<int32_t> next = first.prompt_token_ids;
  next.insert(next.end(), final.token_ids.begin(), final.token_ids.end());
  const std::vector<std::string> modes = {"dense", kSelect, "select:128"};
  for (const std::string& mode : modes) answer(request_in(mode, next, 1));
  start(1000, 100);
  for (const std::string& mode : modes) {
    EXPECT_GE(answer(request_in(mode, next, 1)).usage.loaded_tokens, 1152) << mode;
  }
  start(1000, 100);
  world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{final.output_chunk_id}));
  for (const std::string& mode : modes) {
    EXPECT_LE(answer(request_in(mode, next, 1)).usage.reused_tokens, 1100) << mode;
  }
}

TEST_F(SchedulerSelect, a_text_that_is_deleted_after_a_restart_is_on_no_page) {
  wire::ChunkPut put{ChunkType::kContext, testing::long_text("secret", 300)};
  const std::string id = world_->one<wire::ChunkReply>(world_->send(put)).chunk.id;
  wire::GenerateRequest request =
      testing::ask({{ChunkType::kContext, id, ""}, testing::query_text("What is it about?")});
  request.attention = kSelect;
  request.max_tokens = 4;
  answer(request);
  request.chunks = {testing::query_text(put.text + "\n\nWhat is it about?")};
  EXPECT_GT(answer(request).usage.reused_tokens, 1024) << "it is the same prompt";
  start(1000, kSelectPages);
  const int64_t before = pages_on_disk();
  world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{id}));
  EXPECT_LT(pages_on_disk(), before);
  EXPECT_LT(answer(request).usage.reused_tokens, kPageTokens);
}

TEST_F(SchedulerSelect, a_retained_output_is_reused_in_its_mode_and_gone_when_it_is_deleted) {
  wire::GenerateRequest first = request_in(kSelect, random_tokens(400, 41), 40);
  first.retain_output = true;
  const wire::Final final = answer(first);
  std::vector<int32_t> next = first.prompt_token_ids;
  next.insert(next.end(), final.token_ids.begin(), final.token_ids.end());
  EXPECT_GE(answer(request_in(kSelect, next, 1)).usage.reused_tokens, std::ssize(next) - 2);
  world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{final.output_chunk_id}));
  EXPECT_EQ(answer(request_in(kSelect, next, 1)).usage.reused_tokens, 0);
}

TEST_F(SchedulerSelect, the_daemon_has_a_mode_for_requests_that_name_none) {
  SchedulerOptions options;
  options.attention = *parse_attention("select:64");
  SchedulerWorld world(options, kSelectPages);
  const wire::GenerateRequest request = request_in("", random_tokens(kFirstSelecting + 64, 52), 10);
  const wire::Final final = world.one<wire::Final>(world.send(request));
  EXPECT_EQ(final.attention, kSelect);
  EXPECT_EQ(final.usage.selected_tokens, 64 + 9);
  EXPECT_EQ(world.status().attention, kSelect);
  EXPECT_EQ(world.status().sequence_tokens_max, int64_t{kSelectPages} * kPageTokens);
}

TEST_F(SchedulerSelect, prefixes_and_pinned_system_prompts_have_the_daemons_mode) {
  SchedulerOptions options;
  options.attention = *parse_attention("select:64");
  SchedulerWorld world(options, 90);
  wire::PrefixCache prefix;
  prefix.prompt = testing::long_text("prefix", 300);
  const auto kept = world.one<wire::PrefixReply>(world.send(prefix));
  const auto found = world.one<wire::Final>(
      world.send(testing::prompt_request(*prefix.prompt + " and more words", 20)));
  EXPECT_GE(found.usage.reused_tokens, kept.tokens - 1);
  wire::ChunkPut put{ChunkType::kSystemPrompt, town_rules()};
  put.pinned = true;
  const Chunk chunk = world.one<wire::ChunkReply>(world.send(put)).chunk;
  EXPECT_GT(cache_stats(world).pages_pinned, 0);
  const auto final =
      world.one<wire::Final>(world.send(ask_for_town({ChunkType::kSystemPrompt, chunk.id, ""})));
  EXPECT_GE(final.usage.reused_tokens, world.chunk(chunk.id).kv_tokens);
  EXPECT_EQ(final.attention, kSelect);
}

}  // namespace
}  // namespace cascade
