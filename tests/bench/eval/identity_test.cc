// Cases of `cascade-eval identity`: how they are composed, that they hold, and that a case that
// does not hold is noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/eval/identity_batch.h"
#include "bench/eval/identity_case.h"
#include "bench/eval/identity_run.h"
#include "bench/eval/trace.h"
#include "kernels/kv_format.h"
#include "tests/long_tests.h"
#include "tests/seed.h"
#include "tests/shared_dir.h"

namespace cascade::eval {
namespace {

constexpr IdentityLimits kLimits = {2000, 2, 8192, 16384};

std::unique_ptr<Model> demo_model(WeightType weights, KvType kv) {
  ThreadPool pool(2);
  auto model = load_model(testing::demo_model_dir(), {weights, kv, best_isa()}, pool);
  EXPECT_TRUE(model.ok());
  return *std::move(model);
}

TEST(IdentityCase, is_what_its_seed_says) {
  const IdentityCase first = draw_case(5, kLimits), again = draw_case(5, kLimits);
  EXPECT_EQ(first.ids, again.ids);
  EXPECT_EQ(first.mates.size(), again.mates.size());
  EXPECT_NE(draw_case(6, kLimits).ids, first.ids);
  EXPECT_NE(case_seed(1, 0), case_seed(1, 1));
  EXPECT_NE(case_seed(1, 0), case_seed(2, 0));
  EXPECT_LT(case_seed(1, 0), uint64_t{1} << 53);
}

TEST(IdentityCase, keeps_its_limits_and_meets_every_kind) {
  const uint64_t seed = testing::test_seed();
  std::set<size_t> lengths, mates;
  std::set<int> slices, threads;
  int prefixes = 0, partial = 0, sharing = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const IdentityCase drawn = draw_case(case_seed(seed, i), kLimits);
    const int length = static_cast<int>(drawn.ids.size());
    lengths.insert(drawn.ids.size());
    mates.insert(drawn.mates.size());
    slices.insert(drawn.slice);
    threads.insert(drawn.threads);
    ASSERT_TRUE(length >= 1 && length <= kLimits.tokens_max);
    ASSERT_TRUE(drawn.prefix >= 0 && drawn.prefix < length);
    ASSERT_TRUE(drawn.outputs >= 1 && drawn.outputs <= length - drawn.prefix);
    ASSERT_TRUE(
        std::equal(drawn.ids.begin(), drawn.ids.begin() + drawn.prefix, drawn.donor_ids.begin()));
    prefixes += drawn.prefix > 0 ? 1 : 0;
    partial += drawn.prefix % kPageTokens != 0 ? 1 : 0;
    for (const MatePlan& mate : drawn.mates) {
      sharing += mate.shares_pages ? 1 : 0;
      ASSERT_LT(mate.start, static_cast<int>(mate.ids.size()));
    }
  }
  for (const size_t border : {1, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025}) {
    EXPECT_TRUE(lengths.contains(border)) << border;
  }
  EXPECT_EQ(mates.size(), 7u);
  EXPECT_EQ(slices, std::set<int>({0, 1, 7, 64, 512, 8192}));
  EXPECT_EQ(threads, std::set<int>({1, 2}));
  EXPECT_GT(prefixes, partial);
  EXPECT_GT(partial, 100);
  EXPECT_GT(sharing, 100);
}

TEST(IdentityCase, fits_a_model_of_one_token) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const IdentityCase drawn = draw_case(seed, {1, 1, 2, 1});
    EXPECT_EQ(drawn.ids.size(), 1u);
    EXPECT_EQ(drawn.prefix, 0);
    for (const MatePlan& mate : drawn.mates) EXPECT_EQ(mate.ids.size(), 1u);
  }
}

TEST(SliceSizes, end_small_and_cover_all) {
  Random random(testing::test_seed());
  for (const int size : {0, 1, 7, 64, 512, 8192}) {
    const SliceSizes sizes(size);
    size_t left = 9000, calls = 0, last = 0;
    while (left > 0) {
      last = sizes.next(left, random);
      ASSERT_GT(last, 0u);
      left -= last;
      ++calls;
    }
    EXPECT_LT(calls, 9000u / 512 + 200) << size;
    if (size > 0) {
      EXPECT_LE(last, static_cast<size_t>(size));
    }
  }
}

TEST(IdentityRunner, cases_hold) {
  const uint64_t seed = testing::test_seed();
  for (const auto& [weights, kv] :
       {std::pair(WeightType::kBf16, KvType::kBf16), std::pair(WeightType::kInt8, KvType::kInt8),
        std::pair(WeightType::kInt4, KvType::kFp8), std::pair(WeightType::kQ4K, KvType::kInt8),
        std::pair(WeightType::kQ6K, KvType::kBf16)}) {
    const auto model = demo_model(weights, kv);
    IdentityRunner runner(*model);
    const uint64_t cases = testing::long_or(8, 3);
    for (uint64_t i = 0; i < cases; ++i) {
      const IdentityCase drawn = draw_case(case_seed(seed, i), {300, 2, 8192, 16384});
      const auto reference = runner.reference(drawn, true);
      const auto variant = runner.variant(drawn, true);
      ASSERT_TRUE(reference.ok() && variant.ok());
      const Comparison result = runner.compare(drawn, *reference, *variant);
      ASSERT_EQ(result.differences, 0)
          << "case " << drawn.seed << ": " << result.first->to_string();
      // Everything was compared: each layer except the last knows every token's hidden state.
      for (const IdentityRun* run : {&*reference, &*variant}) {
        for (size_t layer = 0; layer < run->layers.known.size(); ++layer) {
          const auto known = std::ranges::count(run->layers.known[layer], true);
          const bool last = layer + 1 == run->layers.known.size();
          EXPECT_EQ(known, last ? drawn.outputs : static_cast<int>(drawn.ids.size()));
        }
      }
    }
  }
}

TEST(IdentityRunner, cases_hold_where_tokens_select) {
  const auto model = demo_model(WeightType::kInt8, KvType::kInt8);
  for (const AttentionMode& mode : {AttentionMode{0, 0, 64, 0}, {0, 0, 128, 2}, {100, 64}}) {
    IdentityRunner runner(*model, mode);
    int64_t selected = 0;
    const uint64_t cases = testing::long_or(20, 1);
    for (uint64_t i = 0, done = 0; done < cases; ++i) {
      const IdentityCase drawn =
          draw_case(case_seed(testing::test_seed(), i), {1700, 2, 8192, 16384});
      if (drawn.ids.size() < 1500) continue;
      ++done;
      const auto reference = runner.reference(drawn, false);
      const auto variant = runner.variant(drawn, false);
      ASSERT_TRUE(reference.ok() && variant.ok());
      const Comparison result = runner.compare(drawn, *reference, *variant);
      ASSERT_EQ(result.differences, 0)
          << "case " << drawn.seed << ": " << result.first->to_string();
      selected += reference->selected_tokens;
    }
    EXPECT_EQ(selected > 0, mode.selected > 0);
  }
}

// A case that has everything: a partial page of prefix, mates, and more than 128 tokens.
IdentityCase full_case() {
  for (uint64_t seed = 0;; ++seed) {
    IdentityCase drawn = draw_case(seed, {200, 2, 8192, 16384});
    if (drawn.prefix % kPageTokens != 0 && drawn.mates.size() > 2 && drawn.ids.size() > 128) {
      return drawn;
    }
  }
}

std::unique_ptr<Model> hybrid_model(const std::string& name) {
  static ThreadPool pool(2);
  const ModelOptions options = {WeightType::kInt8, KvType::kInt8, best_isa()};
  auto model = load_model(testing::fixtures_dir() / name, options, pool);
  CHECK(model.ok());
  return *std::move(model);
}

TEST(IdentityRunner, cases_of_models_with_recurrent_layers_hold) {
  int prefixes = 0, sharing = 0;
  for (const char* name : {"qwen3-next", "lfm2", "granite4-hybrid"}) {
    const auto model = hybrid_model(name);
    IdentityRunner runner(*model);
    for (uint64_t i = 0; i < testing::long_or<uint64_t>(100, 20); ++i) {
      const IdentityCase drawn = draw_case(case_seed(testing::test_seed(), i), {300, 2, 260, 512});
      const auto reference = runner.reference(drawn, true);
      const auto variant = runner.variant(drawn, true);
      ASSERT_TRUE(reference.ok() && variant.ok());
      const Comparison result = runner.compare(drawn, *reference, *variant);
      ASSERT_EQ(result.differences, 0)
          << name << ", case " << drawn.seed << ": " << result.first->to_string();
      prefixes += drawn.prefix > 0 ? 1 : 0;
      sharing += variant->sharing_mates;
    }
  }
  EXPECT_GT(prefixes, 0);
  EXPECT_GT(sharing, 0);
}

TEST(IdentityRunner, sees_a_bit_of_a_recurrent_state_that_changes) {
  const auto model = hybrid_model("granite4-hybrid");
  const RecurrentConfig& recurrent = model->config.recurrent;
  IdentityRunner runner(*model);
  const IdentityCase drawn = draw_case(case_seed(1, 0), {300, 2, 260, 512});
  auto reference = runner.reference(drawn, false);
  const auto variant = runner.variant(drawn, false);
  ASSERT_TRUE(reference.ok() && variant.ok());
  ASSERT_EQ(runner.compare(drawn, *reference, *variant).differences, 0);
  const size_t begin = recurrent.layer_offset(2) + recurrent.input_floats();
  reference->state[begin + 7] += 1;
  const Comparison result = runner.compare(drawn, *reference, *variant);
  ASSERT_EQ(result.differences, 1);
  EXPECT_EQ(result.first->tensor, Tensor::kState);
  EXPECT_EQ(result.first->layer, 2);
  EXPECT_EQ(result.first->channel, 7);
}

TEST(IdentityRunner, sees_a_bit_that_changes) {
  const auto model = demo_model(WeightType::kInt8, KvType::kInt8);
  IdentityRunner runner(*model);
  const IdentityCase drawn = full_case();
  auto reference = runner.reference(drawn, true);
  auto variant = runner.variant(drawn, true);
  ASSERT_TRUE(reference.ok() && variant.ok());
  ASSERT_EQ(runner.compare(drawn, *reference, *variant).differences, 0);
  const int64_t last = static_cast<int64_t>(drawn.ids.size()) - 1;

  variant->logits.back() += 1;
  EXPECT_EQ(runner.compare(drawn, *reference, *variant).first->position, last);
  variant->layers.states[3][5] += 1;
  EXPECT_EQ(runner.compare(drawn, *reference, *variant).first->to_json()["layer"], 3);
  variant->pages[1][model->kv_layout.value_offset(3, 1)] ^= 1;
  const Comparison result = runner.compare(drawn, *reference, *variant);
  EXPECT_EQ(result.differences, 3);
  EXPECT_EQ(result.first->tensor, Tensor::kValue);
  EXPECT_EQ(result.first->position, 64);
  EXPECT_EQ(result.first->head, 1);
  EXPECT_EQ(result.first->channel, 0);
}

TEST(IdentityRunner, sees_a_sequence_that_was_computed_behind_another_token) {
  const auto model = demo_model(WeightType::kBf16, KvType::kBf16);
  IdentityRunner runner(*model);
  IdentityCase drawn = full_case();
  const auto reference = runner.reference(drawn, false);
  // Pretends that the cached prefix is that of another text.
  const auto position = static_cast<int64_t>(drawn.prefix - 1);
  drawn.donor_ids[drawn.prefix - 1] ^= 1;
  const auto variant = runner.variant(drawn, false);
  ASSERT_TRUE(reference.ok() && variant.ok());
  const Comparison result = runner.compare(drawn, *reference, *variant);
  ASSERT_GT(result.differences, 0);
  EXPECT_EQ(result.first->layer, 0);
  EXPECT_EQ(result.first->tensor, Tensor::kKey);
  EXPECT_EQ(result.first->position, position);
}

TEST(Trace, tells_runs_apart_only_where_they_differ) {
  const auto model = demo_model(WeightType::kInt8, KvType::kInt8);
  IdentityRunner runner(*model);
  const IdentityCase drawn = full_case();
  const auto reference = runner.reference(drawn, true);
  auto variant = runner.variant(drawn, true);
  ASSERT_TRUE(reference.ok() && variant.ok());
  const auto tokens = static_cast<int64_t>(drawn.ids.size());
  const auto before = trace_of("run", model->kv_layout, *reference, tokens);
  EXPECT_EQ(trace_of("run", model->kv_layout, *variant, tokens), before);
  ASSERT_EQ(before.size(), 3u * 8);
  // The scale of the second token's V.
  const size_t scales = kv_scales_offset(padded_head_dim(model->kv_layout.parts[0].head_dim));
  variant->pages[0][model->kv_layout.value_offset(2, 0) + scales + sizeof(uint16_t)] ^= 1;
  const auto after = trace_of("run", model->kv_layout, *variant, tokens);
  for (size_t i = 0; i < before.size(); ++i) {
    const bool changed = before[i]["layer"] == 2 && before[i]["tensor"] == "V";
    EXPECT_EQ(before[i] != after[i], changed) << after[i];
  }
}

TEST(Trace, statistics_are_those_of_the_finite_numbers) {
  TensorStatistics statistics;
  for (const double value : {3.0, -4.0, __builtin_nan("")}) statistics.add({7, value});
  const Json line = statistics.to_json();
  EXPECT_EQ(line["values"], 3);
  EXPECT_EQ(line["not_finite"], 1);
  EXPECT_EQ(line["min"], -4);
  EXPECT_EQ(line["max"], 3);
  EXPECT_EQ(line["mean"], -0.5);
  EXPECT_DOUBLE_EQ(line["rms"], std::sqrt(12.5));
}

}  // namespace
}  // namespace cascade::eval
