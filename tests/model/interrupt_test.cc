// Forward passes that are ended early leave nothing behind: the same pass, made again, has the bits
// of one that was never ended.
#include "model/interrupt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/model/stepping.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

constexpr size_t kBefore = 70, kTokens = 60;

// Every question of a small model is tried, and about twelve of a large one.
int step_of(int questions) {
  return 1 + (questions > 64 ? questions / 12 : 0);
}

// Two sequences of different lengths, whose last tokens are computed in one pass.
class Interrupted : public ::testing::TestWithParam<std::string> {
 protected:
  Interrupted() : model_(load(GetParam(), {WeightType::kInt8, KvType::kInt8, best_isa()}, pool())) {
    Random random(test_seed());
    for (Ids& ids : ids_) ids = random_ids(random, kBefore + kTokens, model_->config.vocab_size);
  }
  static ThreadPool& pool() {
    static ThreadPool one(1);
    return one;
  }

  struct Chains {
    explicit Chains(const KvLayout& layout)
        : pages{ChainPages(layout, kBefore + kTokens), ChainPages(layout, kBefore + kTokens)} {}
    std::array<ChainPages, 2> pages;
  };

  // The bytes of hidden states, K and V; empty if the pass was ended.
  std::vector<float> pass(Transformer& transformer, const Chains& chains,
                          const Interrupt& interrupt = {}) {
    std::vector<Slice> slices = {
        {std::span(ids_[0]).subspan(kBefore), kBefore, chains.pages[0].pages(), kTokens},
        {std::span(ids_[1]).first(kTokens), 0, chains.pages[1].pages(), 1}};
    std::vector<float> hidden((kTokens + 1) * model_->config.hidden_size);
    const Status done = transformer.forward(slices, hidden.data(), interrupt);
    if (done.ok()) return hidden;
    EXPECT_EQ(done.error().code, ErrorCode::kCancelled);
    return {};
  }
  // The hidden state of a token after the first sequence.
  std::vector<float> after_first(Transformer& transformer, const Chains& chains) {
    const Ids next = {1};
    const Slice slice = {next, kBefore + kTokens, chains.pages[0].pages(), 1};
    std::vector<float> hidden(model_->config.hidden_size);
    EXPECT_TRUE(transformer.forward(std::span(&slice, 1), hidden.data()).ok());
    return hidden;
  }
  // What one pass after another gives.
  std::vector<float> further(Transformer& transformer, const Chains& chains) {
    const Ids next = {1};
    std::vector<Slice> slices;
    for (size_t i = 0; i < 2; ++i) {
      const int64_t position = i == 0 ? kBefore + kTokens : kTokens;
      slices.push_back({next, position, chains.pages[i].pages(), 1});
    }
    std::vector<float> hidden(2 * model_->config.hidden_size);
    EXPECT_TRUE(transformer.forward(slices, hidden.data()).ok());
    return hidden;
  }
  void begin(Transformer& transformer, const Chains& chains) {
    const Slice slice = {std::span(ids_[0]).first(kBefore), 0, chains.pages[0].pages(), 0};
    EXPECT_TRUE(transformer.forward(std::span(&slice, 1), nullptr).ok());
  }
  Transformer transformer(ThreadPool& threads = pool()) {
    return {model_->config, model_->weights, *model_->kernels, model_->kv_layout, threads};
  }

  std::unique_ptr<Model> model_;
  std::array<Ids, 2> ids_;
};

TEST_P(Interrupted, at_any_question_and_made_again_the_pass_has_the_same_bits) {
  Transformer transformer = this->transformer();
  const Chains straight(model_->kv_layout);
  begin(transformer, straight);
  int questions = 0;
  const std::vector<float> expected = pass(transformer, straight, [&] {
    ++questions;
    return false;
  });
  ASSERT_FALSE(expected.empty());
  EXPECT_GE(questions, 4 * model_->config.layers - 1);
  const std::vector<float> next = further(transformer, straight);
  for (int n = 1; n <= questions; n += step_of(questions)) {
    const Chains chains(model_->kv_layout);
    begin(transformer, chains);
    int asked = 0;
    EXPECT_TRUE(pass(transformer, chains, [&] { return ++asked == n; }).empty()) << n;
    EXPECT_EQ(asked, n) << "nothing is asked after the end";
    EXPECT_EQ(pass(transformer, chains), expected) << n;
    EXPECT_EQ(further(transformer, chains), next) << n;
  }
}

// A pass of one sequence without outputs, which is ended at any question, then again and again, and
// goes on while passes of others come between.
TEST_P(Interrupted, a_pass_that_goes_on_has_the_same_bits) {
  Transformer transformer = this->transformer();
  const Chains straight(model_->kv_layout);
  begin(transformer, straight);
  const auto slice_of = [&](const Chains& chains) {
    return Slice{std::span(ids_[0]).subspan(kBefore), kBefore, chains.pages[0].pages(), 0};
  };
  const Slice whole = slice_of(straight);
  int all = 0, in_layer = 0, most_in_layer = 0;
  transformer.observe([&](int, std::span<const SliceRow>, const float*) { in_layer = 0; });
  const auto count = [&] {
    ++all;
    most_in_layer = std::max(most_in_layer, ++in_layer);
    return false;
  };
  ASSERT_TRUE(transformer.forward(std::span(&whole, 1), nullptr, count).ok());
  const std::vector<float> expected = after_first(transformer, straight);
  int most_passes = 0;
  for (int first = 1; first <= all; first += step_of(all)) {
    const Chains chains(model_->kv_layout), others(model_->kv_layout);
    begin(transformer, chains);
    const Slice slice = slice_of(chains);
    PausedPass paused;
    int passes = 0;
    for (bool done = false; !done; ++passes) {
      ASSERT_LT(passes, all + 2) << "it does not get on";
      // A pass that asked more often than in a layer has got on.
      const int last = passes == 0 ? first : most_in_layer + 1;
      int asked = 0;
      done = transformer
                 .forward(
                     std::span(&slice, 1), nullptr, [&] { return ++asked == last; }, &paused)
                 .ok();
      begin(transformer, others);
    }
    most_passes = std::max(most_passes, passes);
    EXPECT_TRUE(paused.residual.empty());
    EXPECT_EQ(after_first(transformer, chains), expected) << first;
  }
  EXPECT_GT(most_passes, model_->config.layers >= 8 ? 4 : 1);
}

TEST_P(Interrupted, questions_come_on_the_calling_thread_alone) {
  ThreadPool threads(3);
  Transformer transformer = this->transformer(threads);
  const Chains chains(model_->kv_layout);
  begin(transformer, chains);
  const auto caller = std::this_thread::get_id();
  int elsewhere = 0;
  EXPECT_FALSE(pass(transformer, chains, [&] {
                 if (std::this_thread::get_id() != caller) ++elsewhere;
                 return false;
               }).empty());
  EXPECT_EQ(elsewhere, 0);
  EXPECT_TRUE(pass(transformer, chains, [] { return true; }).empty());
}

INSTANTIATE_TEST_SUITE_P(Models, Interrupted,
                         ::testing::Values("qwen3-gqa", "mistral-swa", "qwen3-moe", "gemma4-shared",
                                           "gemma4-moe", "gpt-oss", "demo"),
                         test_name_of);

}  // namespace
}  // namespace cascade::testing
