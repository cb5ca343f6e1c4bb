// Bursts with drafts leave the bits of bursts without: tokens, log-probabilities, K and V.
#include "actors/burst_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/actors/attention_requests.h"
#include "tests/actors/scheduler_world.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::demo_model;
using testing::random_tokens;

// A token here has four pages to choose from, so it selects with a budget of up to two.
constexpr int64_t kPromptTokens = 20 * kPageTokens + 40;
constexpr int64_t kAnswerTokens = 60;
constexpr AttentionMode kDrafts = {0, 0, 64, 0};

// What a generation leaves: bits of numbers, so that NaNs would be equal.
struct Left {
  std::vector<int32_t> tokens;
  std::vector<uint32_t> logprobs;
  std::vector<int32_t> top_tokens;
  std::vector<uint32_t> top_logprobs;
  std::string pages;  // K and V of the pages that the answer fills

  bool operator==(const Left&) const = default;
};

void add_bits(std::vector<uint32_t>& to, const std::vector<float>& from) {
  for (const float value : from) to.push_back(std::bit_cast<uint32_t>(value));
}

// A generation that goes on from a prompt, in as many jobs as wanted.
struct Generation {
  wire::DecodeSequence next;
  int64_t left = kAnswerTokens;
  int64_t drafted = 0;
  int64_t accepted = 0;
  Left result = {};
};

class BurstSequences : public ::testing::Test {
 protected:
  explicit BurstSequences(const Model& model = demo_model()) : model_(model) {
    engine_.draft_pace.fix(5);
  }

  static constexpr uint32_t kPagesEach = 24;

  // The prompt is `number`; its pages begin at the one numbered `first_page`.
  Generation begin(uint64_t number, uint32_t first_page, wire::SampleSpec sample,
                   const AttentionMode& drafts) {
    const std::vector<int32_t> prompt = random_tokens(kPromptTokens, number);
    wire::PrefillJob job;
    job.token_ids = prompt;
    for (uint32_t i = 0; i < kPagesEach; ++i) job.pages.push_back(first_page + i);
    if (sample.repetition_penalty != 1) {
      sample.history = prompt;
      sample.history_prompt_tokens = static_cast<int32_t>(prompt.size());
    }
    job.sample = sample;
    const wire::PrefillDone done = run_prefill(engine_, job);
    EXPECT_FALSE(done.error.has_value());
    Generation begun;
    begun.next.token = done.token;
    begun.next.position = kPromptTokens;
    begun.next.pages = job.pages;
    begun.next.sample = std::move(sample);
    begun.next.drafts = drafts;
    take_history(begun, {done.token});
    return begun;
  }

  // The scheduler adds the tokens to the histories of penalties and constraints.
  static void take_history(Generation& of, const std::vector<int32_t>& tokens) {
    wire::SampleSpec& sample = of.next.sample;
    const bool penalised = sample.repetition_penalty != 1 || sample.presence_penalty != 0;
    for (const int32_t token : tokens) {
      if (penalised) sample.history.push_back(token);
      if (sample.constraint) sample.constraint->tokens.push_back(token);
    }
  }

  // One job of all generations that are not at their ends.
  void run_job(std::vector<Generation*> all, int steps, int steps_each) {
    wire::DecodeJob job;
    job.steps_max = steps;
    std::erase_if(all, [](const Generation* of) { return of->left == 0; });
    for (Generation* of : all) {
      of->next.steps_max = static_cast<int32_t>(std::min<int64_t>(of->left, steps_each));
      job.sequences.push_back(of->next);
    }
    const wire::DecodeDone done = run_decode(engine_, job);
    ASSERT_FALSE(done.error.has_value());
    for (size_t i = 0; i < all.size(); ++i) {
      const wire::DecodedSequence& decoded = done.sequences[i];
      ASSERT_FALSE(decoded.error.has_value()) << decoded.error->to_string();
      ASSERT_FALSE(decoded.token_ids.empty());
      ASSERT_LE(std::ssize(decoded.token_ids), all[i]->next.steps_max);
      take(*all[i], decoded);
    }
  }

  void take(Generation& of, const wire::DecodedSequence& decoded) {
    Left& result = of.result;
    result.tokens.insert(result.tokens.end(), decoded.token_ids.begin(), decoded.token_ids.end());
    add_bits(result.logprobs, decoded.logprobs);
    result.top_tokens.insert(result.top_tokens.end(), decoded.top_token_ids.begin(),
                             decoded.top_token_ids.end());
    add_bits(result.top_logprobs, decoded.top_logprobs);
    of.drafted += decoded.drafted_tokens;
    of.accepted += decoded.accepted_tokens;
    EXPECT_EQ(decoded.selected_tokens, 0);
    of.next.draft_record = decoded.draft_record;
    for (int64_t page = 0; page < decoded.indexed_pages; ++page) {
      arena_.set_indexed(of.next.pages[static_cast<size_t>(page)], true);
    }
    of.next.token = decoded.token_ids.back();
    of.next.position += std::ssize(decoded.token_ids);
    of.left -= std::ssize(decoded.token_ids);
    if (std::ranges::count(of.next.end_tokens, of.next.token) > 0) of.left = 0;
    take_history(of, decoded.token_ids);
  }

  void run_to_end(std::vector<Generation*> all, int steps, int steps_each) {
    while (std::ranges::any_of(all, [](const Generation* of) { return of->left > 0; })) {
      run_job(all, steps, steps_each);
      if (HasFatalFailure()) return;
    }
    for (Generation* of : all) {
      const auto full = static_cast<size_t>(of->next.position / kPageTokens);
      for (size_t page = 0; page < full; ++page) {
        of->result.pages.append(reinterpret_cast<const char*>(arena_.data(of->next.pages[page])),
                                model_.kv_layout.page_bytes());
      }
    }
  }

  Left without_drafts(uint64_t number, const wire::SampleSpec& sample) {
    Generation dense = begin(number, 0, sample, {});
    run_to_end({&dense}, 7, 7);
    EXPECT_EQ(dense.drafted, 0);
    return dense.result;
  }

  const Model& model_;
  ThreadPool pool_{2};
  PageArena arena_ = *PageArena::create(model_.kv_layout.indexed_page_bytes(), 4 * kPagesEach);
  Engine engine_{model_, arena_, pool_};
};

// A demo model that a test may change.
std::unique_ptr<Model> own_demo_model() {
  ThreadPool pool(1);
  auto loaded = load_model(testing::demo_model_dir(), demo_model().options, pool);
  EXPECT_TRUE(loaded.ok());
  return *std::move(loaded);
}

// Every other layer has a window of its own, so it selects in no mode.
const Model& model_with_windows() {
  static const std::unique_ptr<Model> model = [] {
    std::unique_ptr<Model> own = own_demo_model();
    for (size_t layer = 0; layer < own->config.window.size(); layer += 2) {
      own->config.window[layer] = 300;
    }
    return own;
  }();
  return *model;
}

class BurstSequencesWithWindows : public BurstSequences {
 protected:
  BurstSequencesWithWindows() : BurstSequences(model_with_windows()) {}
};

struct OwnModel {
  const std::unique_ptr<Model> own_ = own_demo_model();
};

class BurstSequencesOfADamagedModel : protected OwnModel, public BurstSequences {
 protected:
  BurstSequencesOfADamagedModel() : BurstSequences(*own_) {}
};

wire::SampleSpec greedy() {
  wire::SampleSpec sample;
  sample.temperature = 0;
  return sample;
}

// At this temperature some drafts are wrong.
wire::SampleSpec sampled() {
  wire::SampleSpec sample;
  sample.temperature = 2;
  sample.seed = 77;
  sample.top_logprobs = 3;
  return sample;
}

wire::SampleSpec penalised() {
  wire::SampleSpec sample = sampled();
  sample.repetition_penalty = 1.2F;
  sample.presence_penalty = 0.6F;
  return sample;
}

// The grammar asks for many strings, so the answer is long.
wire::SampleSpec constrained() {
  wire::SampleSpec sample = penalised();
  sample.constraint.emplace();
  sample.constraint->grammar.kind = GrammarKind::kJsonSchema;
  sample.constraint->grammar.schema =
      R"({"type":"array","items":{"type":"string","minLength":20},"minItems":20})";
  return sample;
}

struct Kind {
  const char* name;
  wire::SampleSpec (*sample)();
  int steps;  // of a job
};

class BurstSequencesOfAKind : public BurstSequences, public ::testing::WithParamInterface<Kind> {};

TEST_P(BurstSequencesOfAKind, with_drafts_leave_the_bits_of_those_without) {
  const wire::SampleSpec sample = GetParam().sample();
  const Left expected = without_drafts(1, sample);
  EXPECT_EQ(std::ssize(expected.tokens), kAnswerTokens);
  Generation verified = begin(1, kPagesEach, sample, kDrafts);
  run_to_end({&verified}, GetParam().steps, 64);
  EXPECT_EQ(verified.result, expected);
  EXPECT_GT(verified.accepted, 0);
  // Greedy drafts are all right. In an emulator the weights have another type.
  if (sample.temperature == 0 || testing::kEmulated) return;
  EXPECT_GT(verified.drafted, verified.accepted) << "some drafts are wrong: something is put back";
}

INSTANTIATE_TEST_SUITE_P(Kinds, BurstSequencesOfAKind,
                         ::testing::Values(Kind{"greedy", greedy, 1}, Kind{"sampled", sampled, 4},
                                           Kind{"penalised", penalised, 16},
                                           Kind{"constrained", constrained, 64}),
                         [](const auto& kind) { return kind.param.name; });

TEST_F(BurstSequences, of_all_kinds_do_not_disturb_each_other) {
  Random random(testing::test_seed());
  const std::vector<wire::SampleSpec> samples = {greedy(), sampled(), penalised()};
  std::vector<Left> expected;
  for (size_t i = 0; i < samples.size(); ++i) expected.push_back(without_drafts(i, samples[i]));
  std::vector<Generation> all;
  for (uint32_t i = 0; i < samples.size(); ++i) {
    all.push_back(begin(i, i * kPagesEach, samples[i], i == 1 ? AttentionMode{} : kDrafts));
  }
  while (std::ranges::any_of(all, [](const Generation& of) { return of.left > 0; })) {
    std::vector<Generation*> some;
    for (Generation& of : all) {
      if (random.below(4) > 0) some.push_back(&of);
    }
    run_job(some, 1 + static_cast<int>(random.below(12)), 1 + static_cast<int>(random.below(20)));
    ASSERT_FALSE(HasFatalFailure());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].result.tokens, expected[i].tokens) << i;
    EXPECT_EQ(all[i].result.logprobs, expected[i].logprobs) << i;
    EXPECT_EQ(all[i].drafted > 0, i != 1) << i;
  }
}

// Without that, a request beside one that drafts would get a token only when its round ends.
TEST_F(BurstSequences, without_drafts_go_on_while_others_are_drafted) {
  Generation verified = begin(7, 0, greedy(), kDrafts);
  Generation plain = begin(8, kPagesEach, greedy(), {});
  run_job({&verified}, 1, 16);  // the pages get an index
  for (int i = 0; i < 3; ++i) {
    const int64_t verified_before = verified.left, plain_before = plain.left;
    run_job({&verified, &plain}, 1, 16);
    EXPECT_LT(verified.left, verified_before);
    EXPECT_EQ(plain_before - plain.left, 6) << "as many as the passes of five drafts and a check";
  }
  const Left expected = without_drafts(8, greedy());
  EXPECT_TRUE(std::ranges::equal(plain.result.tokens,
                                 std::span(expected.tokens).first(plain.result.tokens.size())));
}

TEST_F(BurstSequences, begin_no_drafts_where_selection_would_see_all_pages) {
  Generation dense = begin(3, 0, greedy(), {0, 0, 4096, 0});
  run_to_end({&dense}, 64, 64);
  EXPECT_EQ(dense.drafted, 0);
  EXPECT_EQ(dense.result, without_drafts(3, greedy()));
}

// Steps beyond those of a sequence would need pages that it does not have.
TEST_F(BurstSequences, draft_no_more_than_they_have_room_for) {
  Generation verified = begin(4, 0, greedy(), kDrafts);
  while (verified.left > 0) {
    run_job({&verified}, 64, 2);
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_GT(verified.drafted, 0);
  EXPECT_LE(verified.drafted, kAnswerTokens);
  EXPECT_EQ(verified.result.tokens, without_drafts(4, greedy()).tokens);
}

TEST_F(BurstSequences, have_the_same_bits_with_any_number_of_drafts) {
  const Left expected = without_drafts(6, sampled());
  for (const int drafts : {1, 15}) {
    engine_.draft_pace.fix(drafts);
    Generation verified = begin(6, kPagesEach, sampled(), kDrafts);
    run_to_end({&verified}, 16, 64);
    EXPECT_EQ(verified.result, expected) << drafts;
    EXPECT_GT(verified.drafted, 0);
  }
}

TEST_F(BurstSequences, end_at_an_end_token_within_a_round) {
  const Left all = without_drafts(2, sampled());
  for (const size_t at : {20, 22, 24}) {
    const int32_t end_token = all.tokens[at];
    const auto length = std::ranges::find(all.tokens, end_token) - all.tokens.begin() + 1;
    Generation verified = begin(2, kPagesEach, sampled(), kDrafts);
    verified.next.end_tokens = {end_token};
    run_to_end({&verified}, 64, 64);
    const Left& left = verified.result;
    EXPECT_TRUE(std::ranges::equal(left.tokens, std::span(all.tokens).first(length))) << at;
    EXPECT_TRUE(std::ranges::equal(left.logprobs, std::span(all.logprobs).first(length))) << at;
    EXPECT_TRUE(all.pages.starts_with(left.pages)) << at;
    EXPECT_GT(verified.accepted, 0);
  }
}

TEST_F(BurstSequencesWithWindows, leave_the_bits_of_those_without_drafts) {
  const Left expected = without_drafts(1, sampled());
  Generation verified = begin(1, kPagesEach, sampled(), kDrafts);
  run_to_end({&verified}, 16, 64);
  EXPECT_EQ(verified.result, expected);
  EXPECT_GT(verified.accepted, 0);
}

TEST_F(BurstSequencesOfADamagedModel, end_with_the_error_of_the_check) {
  Generation verified = begin(1, 0, greedy(), kDrafts);
  run_job({&verified}, 1, 16);  // the pages get an index
  own_->weights.final_norm[3] = std::numeric_limits<float>::quiet_NaN();
  wire::DecodeJob job;
  job.steps_max = verified.next.steps_max = 16;
  job.sequences = {verified.next};
  const wire::DecodeDone done = run_decode(engine_, job);
  EXPECT_EQ(done.steps, 2) << "a draft, and what would check it";
  ASSERT_TRUE(done.error.has_value());
  EXPECT_EQ(done.error->code, ErrorCode::kDataCorrupt);
  EXPECT_TRUE(done.sequences[0].token_ids.empty());
}

TEST_F(BurstSequences, leave_indexes_for_the_next_job) {
  Generation verified = begin(5, 0, greedy(), kDrafts);
  for (PageIndex page = 0; page < kPagesEach; ++page) EXPECT_FALSE(arena_.is_indexed(page));
  run_to_end({&verified}, 64, 64);
  const int64_t candidates = verified.next.position / kPageTokens - 15;
  for (PageIndex page = 0; page < kPagesEach; ++page) {
    // The last tokens were not drafted.
    if (page + 1 == candidates) continue;
    EXPECT_EQ(arena_.is_indexed(page), page < candidates) << page;
  }
}

}  // namespace
}  // namespace cascade
