// Models with recurrent layers: rows that nobody wants, and slices of more rows than a pass has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/stepping.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

using States = std::vector<float>;

// A model of f32 weights with int8 K and V, and one that computes with it.
struct HybridSubject {
  explicit HybridSubject(const std::string& name)
      : model(load(name, {WeightType::kF32, KvType::kInt8, best_isa()}, two_threads())),
        transformer(model->config, model->weights, *model->kernels, model->kv_layout,
                    two_threads()),
        width(static_cast<size_t>(model->config.hidden_size)) {}

  Trace at_once(const Ids& ids) {
    return run_chain(transformer, model->kv_layout, ids, ids.size());
  }

  std::unique_ptr<Model> model;
  Transformer transformer;
  size_t width;
};

bool equal_bits(const float* a, const float* b, size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

TEST(Hybrid, the_last_rows_of_slices_are_those_of_all_rows) {
  Random random(test_seed());
  for (const std::string& name : hybrid_models()) {
    HybridSubject subject(name);
    const Ids first = random_ids(random, 60, subject.model->config.vocab_size);
    const Ids second = random_ids(random, 33, subject.model->config.vocab_size);
    const Trace of_first = subject.at_once(first), of_second = subject.at_once(second);
    const ChainPages first_pages(subject.model->kv_layout, first.size());
    const ChainPages second_pages(subject.model->kv_layout, second.size());
    ChainState first_state(subject.model->config), second_state(subject.model->config);
    for (const auto& [of_one, of_other] : {std::pair(1, 0), std::pair(17, 5), std::pair(0, 33)}) {
      const std::vector<Slice> slices = {
          first_state.with({first, 0, first_pages.pages(), of_one}),
          second_state.with({second, 0, second_pages.pages(), of_other})};
      std::vector<float> hidden(static_cast<size_t>(of_one + of_other) * subject.width);
      ASSERT_TRUE(subject.transformer.forward(slices, hidden.data()).ok());
      const size_t floats = static_cast<size_t>(of_one) * subject.width;
      EXPECT_TRUE(equal_bits(hidden.data(),
                             of_first.hidden.data() + of_first.hidden.size() - floats, floats))
          << name << ", " << of_one;
      const size_t others = static_cast<size_t>(of_other) * subject.width;
      EXPECT_TRUE(equal_bits(hidden.data() + floats,
                             of_second.hidden.data() + of_second.hidden.size() - others, others))
          << name << ", " << of_other;
      EXPECT_EQ(first_pages.written(first.size()), of_first.kv) << name;
      EXPECT_TRUE(
          equal_bits(first_state.floats().data(), of_first.state.data(), of_first.state.size()))
          << name;
      EXPECT_TRUE(
          equal_bits(second_state.floats().data(), of_second.state.data(), of_second.state.size()))
          << name;
    }
  }
}

TEST(Hybrid, a_slice_of_more_rows_than_a_pass_goes_on_from_its_own_state) {
  Random random(test_seed());
  constexpr size_t kBefore = 3;
  for (const char* name : {"lfm2", "qwen3-next"}) {
    HybridSubject subject(name);
    // Random models know no position that is too late.
    const Ids ids =
        random_ids(random, kBefore + Transformer::kRowsMax + 50, subject.model->config.vocab_size);
    const Trace expected = run_chain(subject.transformer, subject.model->kv_layout, ids, 500);
    const ChainPages pages(subject.model->kv_layout, ids.size());
    States before(expected.state.size()), after(expected.state.size());
    Slice beginning = {std::span(ids).first(kBefore), 0, pages.pages(), 0};
    beginning.state_to = before.data();
    ASSERT_TRUE(subject.transformer.forward(std::span(&beginning, 1), nullptr).ok());
    const States kept = before;
    Slice rest = {std::span(ids).subspan(kBefore), kBefore, pages.pages(), 1};
    rest.state_from = before.data();
    rest.state_to = after.data();
    std::vector<float> last(subject.width);
    ASSERT_TRUE(subject.transformer.forward(std::span(&rest, 1), last.data()).ok());
    EXPECT_TRUE(equal_bits(last.data(),
                           expected.hidden.data() + expected.hidden.size() - subject.width,
                           subject.width))
        << name;
    EXPECT_TRUE(equal_bits(after.data(), expected.state.data(), after.size())) << name;
    EXPECT_TRUE(equal_bits(before.data(), kept.data(), kept.size())) << name;
    EXPECT_EQ(pages.written(ids.size()), expected.kv) << name;
  }
}

// The states after some tokens of a chain, from one slice, are those of a chain that ends there.
TEST(Hybrid, a_slice_keeps_states_between_its_tokens) {
  Random random(test_seed());
  constexpr size_t kBefore = 5;
  for (const std::string& name : hybrid_models()) {
    HybridSubject subject(name);
    const Ids ids =
        random_ids(random, kBefore + Transformer::kRowsMax + 9, subject.model->config.vocab_size);
    const ChainPages pages(subject.model->kv_layout, ids.size());
    ChainState state(subject.model->config);
    const Slice beginning = state.with({std::span(ids).first(kBefore), 0, pages.pages(), 0});
    ASSERT_TRUE(subject.transformer.forward(std::span(&beginning, 1), nullptr).ok());
    // 1 and 2: fewer than the convolution sees. The last two are in the second pass of the slice.
    const std::vector<int> ends = {
        1, 2, 70, Transformer::kRowsMax, Transformer::kRowsMax + 1, Transformer::kRowsMax + 9};
    std::vector<States> states(ends.size(), States(state.floats().size()));
    std::vector<KeptState> kept;
    for (size_t i = 0; i < ends.size(); ++i) kept.push_back({ends[i], states[i].data()});
    Slice rest = state.with({std::span(ids).subspan(kBefore), kBefore, pages.pages(), 0});
    rest.kept_states = kept;
    ASSERT_TRUE(subject.transformer.forward(std::span(&rest, 1), nullptr).ok());
    for (size_t i = 0; i < ends.size(); ++i) {
      const Ids chain(ids.begin(), ids.begin() + kBefore + ends[i]);
      const Trace cold = run_chain(subject.transformer, subject.model->kv_layout, chain, 500);
      EXPECT_TRUE(equal_bits(states[i].data(), cold.state.data(), cold.state.size()))
          << name << ", " << ends[i];
    }
  }
}

TEST(Hybrid, a_convolution_of_one_token_has_no_state) {
  HybridSubject subject("lfm2");
  ModelConfig config = subject.model->config;
  config.recurrent.taps = 1;
  ASSERT_EQ(config.recurrent.state_floats(), 0u);
  Transformer transformer(config, subject.model->weights, *subject.model->kernels,
                          subject.model->kv_layout, two_threads());
  Random random(test_seed());
  const Ids ids = random_ids(random, 90, config.vocab_size);
  EXPECT_EQ(run_chain(transformer, subject.model->kv_layout, ids, 7),
            run_chain(transformer, subject.model->kv_layout, ids, 90));
}

}  // namespace
}  // namespace cascade::testing
