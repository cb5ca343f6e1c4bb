// The engine's jobs compute the same tokens and the same bits as the parts that they are made of.
#include "actors/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <map>

#include "actors/job_sampling.h"
#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::demo_model;

constexpr size_t kPages = 64;

const std::vector<int32_t>& prompt_ids() {
  static const std::vector<int32_t> ids = [] {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "The quick brown fox number " + std::to_string(i) + ". ";
    auto encoded = demo_model().tokenizer.encode(text, false, false);
    EXPECT_TRUE(encoded.ok());
    encoded->resize(150);  // two pages and a part
    return *std::move(encoded);
  }();
  return ids;
}

struct Step {
  int32_t token;
  uint32_t logprob_bits;
  bool operator==(const Step&) const = default;
};

std::vector<Step> steps_of(const std::vector<int32_t>& tokens, const std::vector<float>& logprobs) {
  EXPECT_EQ(tokens.size(), logprobs.size());
  std::vector<Step> steps;
  for (size_t i = 0; i < tokens.size(); ++i) {
    steps.push_back({tokens[i], std::bit_cast<uint32_t>(logprobs[i])});
  }
  return steps;
}

// The prompt of a request, and how to sample after it.
struct Wish {
  std::vector<int32_t> prompt;
  wire::SampleSpec sample;
};

std::vector<Wish> wishes() {
  const auto& ids = prompt_ids();
  wire::SampleSpec greedy, random, penalised;
  random.temperature = 0.9;
  random.top_p = 0.95;
  random.top_k = 40;
  random.min_p = 0.01;
  random.seed = 77;
  random.presence_penalty = 0.4;
  random.frequency_penalty = 0.7;
  random.top_logprobs = 3;
  penalised.temperature = 1.2;
  penalised.repetition_penalty = 1.3;
  penalised.frequency_penalty = -0.2;
  penalised.seed = 5;
  penalised.bias_tokens = {7, 300, 301};
  penalised.biases = {-100, 2.5F, -1.5F};
  std::vector<Wish> all = {{ids, greedy},
                           {{ids.begin(), ids.begin() + 1}, random},
                           {{ids.begin() + 30, ids.begin() + 94}, penalised}};
  all[2].sample.history = all[2].prompt;
  all[2].sample.history_prompt_tokens = static_cast<int32_t>(all[2].prompt.size());
  return all;
}

// Only the repetition penalty counts the prompt.
TokenHistory history_of(const Wish& wish, const std::vector<int32_t>& generated) {
  if (wish.sample.repetition_penalty == 1) return {{}, generated};
  return {wish.prompt, generated};
}

// An engine with memory of its own.
class Machine {
 public:
  explicit Machine(const Model& model = demo_model(), int threads = 2)
      : pool_(threads),
        arena_(*PageArena::create(model.kv_layout.indexed_page_bytes(), kPages)),
        engine_(model, arena_, pool_) {}

  Engine& engine() { return engine_; }
  std::string page_bytes(uint32_t page) const {
    return std::string(reinterpret_cast<const char*>(arena_.data(page)), arena_.page_bytes());
  }

  // Prefills the prompt in slices of `slice` tokens. Returns the answer to the last slice.
  wire::PrefillDone prefill(const Wish& wish, const std::vector<uint32_t>& pages, size_t slice) {
    wire::PrefillDone done;
    for (size_t at = 0; at < wish.prompt.size(); at += slice) {
      const size_t end = std::min(wish.prompt.size(), at + slice);
      wire::PrefillJob job;
      job.job = 100 + at;
      job.position = static_cast<int64_t>(at);
      job.token_ids.assign(wish.prompt.begin() + at, wish.prompt.begin() + end);
      job.pages = pages;
      if (end == wish.prompt.size()) job.sample = wish.sample;
      done = run_prefill(engine_, job);
      EXPECT_EQ(done.job, job.job);
      EXPECT_FALSE(done.error.has_value());
      EXPECT_EQ(done.token >= 0, job.sample.has_value());
    }
    return done;
  }

  // Steps the forward pass by hand, one token at a time.
  std::vector<Step> step_by_hand(const Wish& wish, const std::vector<uint32_t>& pages, int count) {
    std::vector<uint8_t*> addresses;
    for (const uint32_t page : pages) addresses.push_back(arena_.data(page));
    std::vector<float> hidden(engine_.model.config.hidden_size);
    std::vector<float> logits(engine_.model.config.vocab_size);
    std::vector<int32_t> feed = wish.prompt, generated;
    int64_t position = 0;
    std::vector<Step> steps;
    for (int i = 0; i < count; ++i) {
      const Slice slice = {feed, position, addresses, 1};
      CHECK(engine_.transformer.forward(std::span(&slice, 1), hidden.data()).ok());
      engine_.transformer.logits(hidden.data(), 1, logits.data());
      position += static_cast<int64_t>(feed.size());
      const auto sampled = sample(logits, sampler_params(wish.sample), history_of(wish, generated),
                                  position, *engine_.model.kernels);
      EXPECT_TRUE(sampled.ok());
      steps.push_back({sampled->token, std::bit_cast<uint32_t>(sampled->logprob)});
      feed = {sampled->token};
      generated.push_back(sampled->token);
    }
    return steps;
  }

 private:
  ThreadPool pool_;
  PageArena arena_;
  Engine engine_;
};

constexpr int kSteps = 24;

// Four pages for each wish.
std::vector<uint32_t> pages_of(size_t wish) {
  std::vector<uint32_t> pages;
  for (uint32_t i = 0; i < 4; ++i) pages.push_back(static_cast<uint32_t>(wish) + 7 * (3 - i));
  return pages;
}

// The expected steps of each wish.
const std::vector<std::vector<Step>>& expected() {
  static const std::vector<std::vector<Step>> all = [] {
    Machine machine;
    std::vector<std::vector<Step>> steps;
    for (size_t i = 0; i < wishes().size(); ++i) {
      steps.push_back(machine.step_by_hand(wishes()[i], pages_of(i), kSteps));
    }
    return steps;
  }();
  return all;
}

// A decode job that goes on where `steps` of a wish end.
wire::DecodeSequence sequence_of(size_t wish, const std::vector<Step>& steps) {
  const Wish wanted = wishes()[wish];
  wire::DecodeSequence sequence;
  sequence.sequence = 1000 + wish;
  sequence.token = steps.back().token;
  sequence.position = static_cast<int64_t>(wanted.prompt.size() + steps.size()) - 1;
  sequence.steps_max = kSteps;
  sequence.pages = pages_of(wish);
  sequence.sample = wanted.sample;
  if (sampler_params(wanted.sample).penalises()) {
    for (const Step& step : steps) sequence.sample.history.push_back(step.token);
  }
  return sequence;
}

// Prefills all wishes. Returns the first step of each.
std::vector<std::vector<Step>> prefill_all(Machine& machine, size_t slice) {
  std::vector<std::vector<Step>> steps;
  for (size_t i = 0; i < wishes().size(); ++i) {
    const auto done = machine.prefill(wishes()[i], pages_of(i), slice);
    steps.push_back({{done.token, std::bit_cast<uint32_t>(done.logprob)}});
  }
  return steps;
}

TEST(Engine, decodes_the_tokens_and_bits_of_the_forward_pass_in_any_bursts) {
  for (const auto& [slice, threads, burst] :
       {std::tuple(size_t{1000}, 1, 1), std::tuple(size_t{64}, 3, 5),
        std::tuple(size_t{37}, 2, 16)}) {
    Machine machine(demo_model(), threads);
    std::vector<std::vector<Step>> got = prefill_all(machine, slice);
    while (got[0].size() < kSteps) {
      wire::DecodeJob job;
      job.job = got[0].size();
      job.steps_max = burst;
      for (size_t i = 0; i < got.size(); ++i) {
        job.sequences.push_back(sequence_of(i, got[i]));
        job.sequences[i].steps_max = kSteps - static_cast<int32_t>(got[i].size());
      }
      const wire::DecodeDone done = run_decode(machine.engine(), job);
      ASSERT_FALSE(done.error.has_value());
      ASSERT_EQ(done.job, job.job);
      ASSERT_EQ(done.steps, std::min<int32_t>(burst, job.sequences[0].steps_max));
      ASSERT_EQ(done.sequences.size(), got.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(done.sequences[i].sequence, 1000 + i);
        const auto more = steps_of(done.sequences[i].token_ids, done.sequences[i].logprobs);
        got[i].insert(got[i].end(), more.begin(), more.end());
      }
    }
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(got[i] == expected()[i]) << "wish " << i << ", slices of " << slice;
    }
  }
}

wire::PrefillJob yielding_job(uint64_t number, uint64_t resumes = 0) {
  wire::PrefillJob job;
  job.job = number;
  job.token_ids = wishes()[0].prompt;
  job.pages = pages_of(0);
  job.yields = true;
  job.resumes = resumes;
  return job;
}

TEST(Engine, a_job_that_yielded_is_resumed_with_the_same_bytes) {
  Machine straight, resumed(demo_model(), 1);
  EXPECT_FALSE(run_prefill(straight.engine(), yielding_job(1)).yielded);
  uint64_t number = 1;
  int passes = 0;
  for (bool yielded = true; yielded; ++passes) {
    ASSERT_LT(passes, 1000) << "it does not get on";
    const wire::PrefillJob job = yielding_job(number + 1, passes == 0 ? 0 : number);
    int asked = 0;
    const auto done = run_prefill(resumed.engine(), job, [&] { return ++asked > 40; });
    EXPECT_FALSE(done.error.has_value());
    yielded = done.yielded;
    ++number;
  }
  EXPECT_GT(passes, 2);
  for (const uint32_t page : pages_of(0)) {
    EXPECT_EQ(resumed.page_bytes(page), straight.page_bytes(page));
  }
}

// The last token of a prompt, whose logits give the next token.
wire::PrefillJob last_token_job(uint64_t number, uint64_t resumes = 0) {
  wire::PrefillJob job = yielding_job(number, resumes);
  job.position = std::ssize(job.token_ids) - 1;
  job.token_ids = {job.token_ids.back()};
  job.sample.emplace();
  return job;
}

TEST(Engine, a_job_that_samples_after_it_yielded_gives_the_same_token) {
  Machine straight, resumed(demo_model(), 1);
  for (Machine* machine : {&straight, &resumed}) {
    wire::PrefillJob before = yielding_job(1);
    before.token_ids.pop_back();
    ASSERT_FALSE(run_prefill(machine->engine(), before).yielded);
  }
  const wire::PrefillDone expected = run_prefill(straight.engine(), last_token_job(2));
  ASSERT_GE(expected.token, 0);
  uint64_t number = 2;
  wire::PrefillDone done;
  do {
    ASSERT_LT(number, 1000u) << "it does not get on";
    int asked = 0;
    done = run_prefill(resumed.engine(), last_token_job(number + 1, number == 2 ? 0 : number),
                       [&] { return ++asked > 12; });
    EXPECT_TRUE(!done.yielded || done.token == -1);
    ++number;
  } while (done.yielded);
  EXPECT_GT(number, 3u) << "it yielded";
  EXPECT_EQ(done.token, expected.token);
  EXPECT_EQ(done.logprob, expected.logprob);
  for (const uint32_t page : pages_of(0)) {
    EXPECT_EQ(resumed.page_bytes(page), straight.page_bytes(page));
  }
}

TEST(Engine, the_time_of_a_resumed_job_has_that_of_its_earlier_parts) {
  Machine machine;
  const auto first = run_prefill(machine.engine(), yielding_job(1), [] { return true; });
  ASSERT_TRUE(first.yielded);
  constexpr int64_t kYear = int64_t{365} * 86'400 * 1'000'000;
  machine.engine().yielded.compute_us = kYear;
  EXPECT_GE(run_prefill(machine.engine(), yielding_job(2, 1)).compute_us, kYear);
}

TEST(Engine, a_job_does_not_resume_another_one_of_the_same_number) {
  // The scheduler was restarted, and numbers jobs from 1 again.
  Machine machine;
  ASSERT_TRUE(run_prefill(machine.engine(), yielding_job(7), [] { return true; }).yielded);
  wire::PrefillJob job = yielding_job(7);
  job.yields = false;
  const auto wanted = [] { return true; };
  EXPECT_FALSE(run_prefill(machine.engine(), job, wanted).yielded) << "its answer is awaited";
  EXPECT_TRUE(run_prefill(machine.engine(), yielding_job(7), wanted).yielded);
}

TEST(Engine, prefills_the_same_bytes_in_any_slices) {
  Machine whole, sliced(demo_model(), 1);
  const Wish wish = wishes()[0];
  whole.prefill(wish, pages_of(0), 1000);
  sliced.prefill(wish, pages_of(0), 29);
  for (const uint32_t page : pages_of(0)) {
    EXPECT_TRUE(whole.page_bytes(page) == sliced.page_bytes(page)) << page;
  }
  EXPECT_NE(whole.page_bytes(pages_of(0)[2]), whole.page_bytes(pages_of(0)[3]));
}

TEST(Engine, goes_on_from_pages_that_another_request_prefilled) {
  Machine machine;
  const Wish wish = wishes()[0];
  machine.prefill(wish, pages_of(0), 1000);
  wire::PrefillJob job;
  job.position = 128;
  job.token_ids.assign(wish.prompt.begin() + 128, wish.prompt.end());
  job.pages = pages_of(0);
  job.pages[2] = 50;  // the shared pages, then one of its own
  job.sample = wish.sample;
  const auto done = run_prefill(machine.engine(), job);
  EXPECT_EQ((Step{done.token, std::bit_cast<uint32_t>(done.logprob)}), expected()[0][0]);
}

TEST(Engine, ends_a_burst_at_an_end_token) {
  Machine machine;
  const auto first = prefill_all(machine, 1000);
  wire::DecodeJob job;
  job.steps_max = kSteps - 1;
  std::vector<size_t> lengths;
  for (size_t i = 0; i < first.size(); ++i) {
    job.sequences.push_back(sequence_of(i, first[i]));
    // The token of a later step ends the sequence, at the first place where that token comes.
    const int32_t end_token = expected()[i][5 + 3 * i].token;
    job.sequences[i].end_tokens = {-1, end_token};
    size_t length = 1;
    while (expected()[i][length].token != end_token) ++length;
    lengths.push_back(length);
  }
  const wire::DecodeDone done = run_decode(machine.engine(), job);
  for (size_t i = 0; i < first.size(); ++i) {
    const auto got = steps_of(done.sequences[i].token_ids, done.sequences[i].logprobs);
    const std::vector<Step> wanted(expected()[i].begin() + 1,
                                   expected()[i].begin() + 1 + static_cast<int>(lengths[i]));
    EXPECT_TRUE(got == wanted) << "wish " << i << " has " << got.size() << " steps";
  }
  EXPECT_EQ(done.steps, static_cast<int32_t>(*std::ranges::max_element(lengths)));
}

TEST(Engine, respects_the_steps_of_each_sequence) {
  Machine machine;
  const auto first = prefill_all(machine, 1000);
  wire::DecodeJob job;
  job.steps_max = 8;
  for (size_t i = 0; i < first.size(); ++i) job.sequences.push_back(sequence_of(i, first[i]));
  job.sequences[0].steps_max = 3;
  job.sequences[1].steps_max = 0;
  job.sequences[2].steps_max = 100;
  const wire::DecodeDone done = run_decode(machine.engine(), job);
  EXPECT_EQ(done.steps, 8);
  const std::vector<size_t> counts = {3, 0, 8};
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto got = steps_of(done.sequences[i].token_ids, done.sequences[i].logprobs);
    ASSERT_EQ(got.size(), counts[i]) << "wish " << i;
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected()[i].begin() + 1)) << "wish " << i;
  }
  job.sequences.resize(2);
  EXPECT_EQ(run_decode(machine.engine(), job).steps, 3);  // no more than any sequence wants
  job.sequences.clear();
  EXPECT_EQ(run_decode(machine.engine(), job).steps, 0);
}

class DamagedEngine : public ::testing::TestWithParam<WeightType> {};

// Products of integers cannot be NaN.
TEST_P(DamagedEngine, tells_of_logits_that_are_not_finite) {
  ThreadPool pool(2);
  ModelOptions options = demo_model().options;
  options.weight_type = GetParam();
  auto model = load_model(testing::demo_model_dir(), options, pool);
  ASSERT_TRUE(model.ok());
  (*model)->weights.final_norm[3] = std::numeric_limits<float>::quiet_NaN();
  Machine machine(**model);
  wire::PrefillJob job;
  job.token_ids = {1, 2, 3};
  job.pages = {0};
  EXPECT_FALSE(run_prefill(machine.engine(), job).error.has_value());  // samples nothing
  job.sample = wire::SampleSpec{};
  const auto prefilled = run_prefill(machine.engine(), job);
  ASSERT_TRUE(prefilled.error.has_value());
  EXPECT_EQ(prefilled.error->code, ErrorCode::kDataCorrupt);
  EXPECT_EQ(prefilled.token, -1);
  wire::DecodeJob decode;
  decode.steps_max = 8;
  decode.sequences.resize(1);
  decode.sequences[0] = {.sequence = 4,
                         .token = 3,
                         .position = 2,
                         .steps_max = 8,
                         .pages = {0},
                         .end_tokens = {},
                         .sample = {}};
  const auto decoded = run_decode(machine.engine(), decode);
  ASSERT_TRUE(decoded.error.has_value());
  EXPECT_EQ(decoded.error->code, ErrorCode::kDataCorrupt);
  ASSERT_EQ(decoded.sequences.size(), 1u);
  EXPECT_TRUE(decoded.sequences[0].token_ids.empty());
}

INSTANTIATE_TEST_SUITE_P(Weights, DamagedEngine, ::testing::ValuesIn(kWeightTypes),
                         [](const auto& type) { return std::string(to_string(type.param)); });

}  // namespace
}  // namespace cascade
