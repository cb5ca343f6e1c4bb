// Requests whose answers are drafted with selection and checked: whatever happens in between, they
// have the bits of dense requests, and share their pages.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/actors/attention_requests.h"

namespace cascade {
namespace {

using testing::Actor;
using testing::bits_of;
using testing::kFirstSelecting;
using testing::random_tokens;
using testing::request_in;
using testing::SchedulerWorld;

constexpr char kVerify[] = "verify:64:0";
constexpr size_t kVerifyPages = 60;

class SchedulerVerify : public testing::AttentionWorld {
 protected:
  void SetUp() override { begin(); }
  // Starts a daemon whose rounds have five drafts, wherever something selects.
  void begin() {
    start(1000, kVerifyPages);
    world_->engine().draft_pace.fix(5);
  }
  // The bits of the same request with dense attention.
  static std::vector<uint32_t> dense_bits(wire::GenerateRequest request) {
    request.attention = "dense";
    return bits_alone(request);
  }
};

TEST_F(SchedulerVerify, an_answer_has_the_bits_of_a_dense_one_and_counts_its_drafts) {
  const wire::GenerateRequest request =
      request_in(kVerify, random_tokens(kFirstSelecting + 100, 1), 70);
  const wire::Final final = answer(request);
  EXPECT_EQ(final.attention, kVerify);
  EXPECT_EQ(bits_of(final), dense_bits(request));
  EXPECT_EQ(final.usage.selected_tokens, 0);
  EXPECT_GT(final.usage.drafted_tokens, final.usage.accepted_tokens);
  EXPECT_GT(final.usage.accepted_tokens, 0);
  const wire::StatusReply status = world_->status();
  EXPECT_EQ(status.tokens_drafted, final.usage.drafted_tokens);
  EXPECT_EQ(status.tokens_accepted, final.usage.accepted_tokens);
  EXPECT_EQ(status.tokens_selected, 0);
}

TEST_F(SchedulerVerify, its_pages_are_those_of_dense_requests) {
  const std::vector<int32_t> prompt = random_tokens(kFirstSelecting + 100, 2);
  answer(request_in("dense", prompt, 1));
  const wire::Final verified = answer(request_in(kVerify, prompt, 40));
  EXPECT_EQ(verified.usage.reused_tokens, std::ssize(prompt) - 1);
  EXPECT_GT(verified.usage.drafted_tokens, 0) << "pages that others computed get an index";
  std::vector<int32_t> next = prompt;
  next.insert(next.end(), verified.token_ids.begin(), verified.token_ids.end());
  next.push_back(300);
  const wire::GenerateRequest dense = request_in("dense", next, 20);
  const wire::Final after = answer(dense);
  // The last token of the answer was never fed.
  EXPECT_EQ(after.usage.reused_tokens, std::ssize(next) - 2);
  EXPECT_EQ(bits_of(after), bits_alone(dense));
  EXPECT_EQ(answer(request_in("verify:128", next, 1)).usage.reused_tokens, std::ssize(next) - 1);
  EXPECT_EQ(answer(request_in("select:64", next, 1)).usage.reused_tokens, 0);
}

TEST_F(SchedulerVerify, goes_on_from_pages_that_were_read_from_disk) {
  wire::GenerateRequest first = request_in(kVerify, random_tokens(kFirstSelecting + 100, 3), 40);
  first.retain_output = true;
  const wire::Final before = answer(first);
  begin();
  std::vector<int32_t> next = first.prompt_token_ids;
  next.insert(next.end(), before.token_ids.begin(), before.token_ids.end());
  next.push_back(300);
  const wire::GenerateRequest request = request_in(kVerify, next, 40);
  const wire::Final after = answer(request);
  EXPECT_GT(after.usage.loaded_tokens, kFirstSelecting);
  EXPECT_GT(after.usage.drafted_tokens, 0);
  EXPECT_EQ(bits_of(after), dense_bits(request));
}

TEST_F(SchedulerVerify, sampled_answers_with_penalties_and_grammars_have_the_bits_of_dense_ones) {
  wire::GenerateRequest request = request_in(kVerify, random_tokens(kFirstSelecting + 50, 4), 60);
  request.sampling.temperature = 0.8;
  request.sampling.seed = 11;
  request.sampling.repetition_penalty = 1.2;
  request.top_logprobs = 2;
  const wire::Final penalised = answer(request);
  EXPECT_EQ(bits_of(penalised), dense_bits(request));
  EXPECT_GT(penalised.usage.drafted_tokens, 0);
  request.ignore_eos = false;
  request.grammar.emplace();
  request.grammar->kind = GrammarKind::kJsonSchema;
  request.grammar->schema = R"({"type":"array","items":{"type":"integer"},"minItems":30})";
  const wire::Final constrained = answer(request);
  EXPECT_EQ(bits_of(constrained), dense_bits(request));
  EXPECT_GT(constrained.usage.drafted_tokens, 0);
}

TEST_F(SchedulerVerify, an_answer_of_any_length_ends_where_a_dense_one_does) {
  const std::vector<int32_t> prompt = random_tokens(kFirstSelecting + 10, 5);
  for (int32_t tokens = 1; tokens <= 9; ++tokens) {
    const wire::GenerateRequest request = request_in(kVerify, prompt, tokens);
    const wire::Final final = answer(request);
    EXPECT_EQ(final.usage.completion_tokens, tokens);
    EXPECT_EQ(bits_of(final), dense_bits(request)) << tokens;
  }
}

TEST_F(SchedulerVerify, an_answer_ends_where_memory_does) {
  const std::vector<int32_t> prompt = random_tokens(int64_t{kVerifyPages} * kPageTokens - 20, 6);
  SchedulerWorld world({}, kVerifyPages);
  world.engine().draft_pace.fix(5);
  const wire::Final final = world.one<wire::Final>(world.send(request_in(kVerify, prompt, 100)));
  EXPECT_EQ(final.finish_reason, "length");
  EXPECT_EQ(final.usage.completion_tokens, 20);
  EXPECT_GT(final.usage.drafted_tokens, 0);
  SchedulerWorld other({}, kVerifyPages);
  const uint64_t dense = other.send(request_in("dense", prompt, 100));
  EXPECT_EQ(bits_of(final), bits_of(other.one<wire::Final>(dense)));
}

TEST_F(SchedulerVerify, several_at_once_do_not_disturb_each_other) {
  start(1000, 150);
  world_->engine().draft_pace.fix(5);
  std::vector<wire::GenerateRequest> requests;
  for (const char* mode : {kVerify, "dense", "verify:128:1", "select:64", "window:128:64"}) {
    requests.push_back(request_in(mode, random_tokens(kFirstSelecting + 150, 7), 30));
  }
  std::vector<uint64_t> numbers;
  for (const auto& request : requests) numbers.push_back(world_->post(request));
  world_->pump();
  for (size_t i = 0; i < requests.size(); ++i) {
    const wire::Final final = world_->one<wire::Final>(numbers[i]);
    EXPECT_EQ(bits_of(final), bits_alone(requests[i])) << *requests[i].attention;
    EXPECT_EQ(final.usage.drafted_tokens > 0, requests[i].attention->starts_with("verify"));
  }
}

TEST_F(SchedulerVerify, a_preempted_request_goes_on_with_the_same_bits) {
  expect_preempted_request_goes_on(kVerify, kFirstSelecting + 20, 80, /*pages=*/90, /*steps=*/12);
}

TEST_F(SchedulerVerify, the_daemon_drafts_for_requests_that_name_no_mode) {
  SchedulerOptions options;
  options.attention = *parse_attention("verify:64");
  SchedulerWorld world(options, kVerifyPages);
  world.engine().draft_pace.fix(5);
  const wire::GenerateRequest request = request_in("", random_tokens(kFirstSelecting + 64, 8), 20);
  const wire::Final final = world.one<wire::Final>(world.send(request));
  EXPECT_EQ(final.attention, kVerify);
  EXPECT_GT(final.usage.drafted_tokens, 0);
  EXPECT_EQ(bits_of(final), dense_bits(request));
  EXPECT_EQ(world.status().attention, kVerify);
  const wire::GenerateRequest dense = request_in("dense", request.prompt_token_ids, 20);
  const wire::Final undrafted = world.one<wire::Final>(world.send(dense));
  EXPECT_EQ(undrafted.attention, "dense");
  EXPECT_EQ(undrafted.usage.drafted_tokens, 0);
}

// Its pages are partly on disk, where nothing can be selected.
TEST_F(SchedulerVerify, a_request_longer_than_memory_is_answered_without_drafts) {
  start(1000, 26);
  world_->engine().draft_pace.fix(5);
  const wire::GenerateRequest request = request_in(kVerify, random_tokens(40 * kPageTokens, 9), 20);
  const wire::Final final = answer(request);
  EXPECT_EQ(final.usage.drafted_tokens, 0);
  EXPECT_EQ(bits_of(final), dense_bits(request));
}

}  // namespace
}  // namespace cascade
