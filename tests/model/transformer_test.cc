// The forward pass: which states it returns, what it writes where, and what it refuses.
#include "model/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "cache/attention_pages.h"
#include "tests/emulated.h"
#include "tests/model/random_weights.h"
#include "tests/model/stepping.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

ModelConfig tiny_config() {
  ModelConfig config;
  config.model_type = "qwen3";
  config.layers = 2;
  config.hidden_size = 24;
  config.intermediate_size = 40;
  config.query_heads = 6;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.vocab_size = 50;  // not whole panels
  config.context_tokens_max = 8192;
  config.rms_norm_eps = 1e-6f;
  config.qk_norm = QkNorm::kHead;
  config.tied_embeddings = true;
  config.attention_scale = 1 / std::sqrt(8.0f);
  config.rope.theta = 10000;
  config.window = {0, 0};
  config.layer_rope = {LayerRope::kMain, LayerRope::kMain};
  return config;
}

// A model that needs no file.
struct RandomModel {
  explicit RandomModel(uint64_t seed = 1) {
    Random random(seed);
    const ModelConfig& c = config;
    weights.embedding = random_matrix(random, c.vocab_size, c.hidden_size, memory);
    weights.final_norm = random_vector(random, c.hidden_size, 1);
    for (int i = 0; i < c.layers; ++i) {
      LayerWeights layer;
      layer.attention_norm = random_vector(random, c.hidden_size, 1);
      layer.mlp_norm = random_vector(random, c.hidden_size, 1);
      layer.query_norm = random_vector(random, c.head_dim, 1);
      layer.key_norm = random_vector(random, c.head_dim, 1);
      const int q = c.query_heads * c.head_dim, kv = c.kv_heads * c.head_dim;
      layer.qkv = random_stack(random, {q, kv, kv}, c.hidden_size, memory);
      layer.output = random_stack(random, {c.hidden_size}, q, memory);
      layer.gate_up =
          random_stack(random, {c.intermediate_size, c.intermediate_size}, c.hidden_size, memory);
      layer.down = random_stack(random, {c.hidden_size}, c.intermediate_size, memory);
      weights.layers.push_back(std::move(layer));
    }
  }
  Transformer transformer(ThreadPool& pool, KvType type = KvType::kF32) {
    return Transformer(config, weights, **kernels_for(best_isa()), kv_layout(config, type), pool);
  }
  KvLayout layout(KvType type = KvType::kF32) const { return kv_layout(config, type); }

  ModelConfig config = tiny_config();
  Weights weights;
  std::vector<AlignedBytes> memory;
};

TEST(KvLayout, blocks_lie_one_behind_the_other_in_whole_cache_lines) {
  for (const KvType type : kKvTypes) {
    for (const int head_dim : {8, 16, 24, 64, 80, 128}) {
      ModelConfig config = tiny_config();
      config.head_dim = head_dim;
      const KvLayout layout = kv_layout(config, type);
      EXPECT_GE(layout.parts[0].key_block_bytes, key_block_bytes(type, head_dim));
      EXPECT_GE(layout.parts[0].value_block_bytes, value_block_bytes(type, head_dim));
      std::vector<size_t> begins;
      for (int layer = 0; layer < config.layers; ++layer) {
        for (int head = 0; head < config.kv_heads; ++head) {
          begins.push_back(layout.key_offset(layer, head));
          begins.push_back(layout.value_offset(layer, head));
        }
      }
      EXPECT_EQ(begins.front(), 0u);
      for (size_t i = 0; i < begins.size(); ++i) {
        EXPECT_EQ(begins[i] % 64, 0u);
        const size_t end = i + 1 < begins.size() ? begins[i + 1] : layout.page_bytes();
        EXPECT_EQ(end - begins[i],
                  i % 2 == 0 ? layout.parts[0].key_block_bytes : layout.parts[0].value_block_bytes);
      }
    }
  }
}

TEST(Transformer, gives_the_states_that_are_wanted_slice_by_slice) {
  RandomModel model;
  ThreadPool pool(2);
  Transformer transformer = model.transformer(pool);
  Random random(test_seed());
  const size_t width = 24;
  const std::vector<size_t> sizes = {5, 1, 70, 3, 600};
  std::vector<Ids> ids;
  std::vector<Trace> alone;
  for (const size_t size : sizes) {
    ids.push_back(random_ids(random, size, 50));
    alone.push_back(run_chain(transformer, model.layout(), ids.back(), size));
  }
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<ChainPages>> pages;
    std::vector<Slice> slices;
    std::vector<float> expected;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const int outputs =
          static_cast<int>(random.below(3) == 0 ? random.below(sizes[i] + 1) : random.below(2));
      pages.push_back(std::make_unique<ChainPages>(model.layout(), sizes[i]));
      slices.push_back({ids[i], 0, pages.back()->pages(), outputs});
      const auto& hidden = alone[i].hidden;
      expected.insert(expected.end(), hidden.end() - static_cast<ptrdiff_t>(outputs * width),
                      hidden.end());
    }
    // A guard lies behind the last state: nothing is written beyond the wanted states.
    std::vector<float> hidden(expected.size() + width, 12345.0f);
    CHECK(transformer.forward(slices, hidden.data()).ok());
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), hidden.begin()));
    ASSERT_EQ(std::count(hidden.end() - ptrdiff_t(width), hidden.end(), 12345.0f),
              static_cast<ptrdiff_t>(width));
    for (size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_EQ(pages[i]->written(sizes[i]), alone[i].kv);
    }
  }
}

TEST(Transformer, without_wanted_states_it_still_writes_k_and_v) {
  RandomModel model;
  ThreadPool pool(1);
  Transformer transformer = model.transformer(pool);
  Random random(test_seed());
  const Ids ids = random_ids(random, 100, 50);
  const Trace trace = run_chain(transformer, model.layout(), ids, 100);
  const ChainPages pages(model.layout(), 100);
  const Slice slice = {ids, 0, pages.pages(), 0};
  CHECK(transformer.forward(std::span(&slice, 1), nullptr).ok());
  EXPECT_EQ(pages.written(100), trace.kv);
}

TEST(Transformer, empty_slices_and_empty_batches_are_nothing) {
  RandomModel model;
  ThreadPool pool(2);
  Transformer transformer = model.transformer(pool);
  CHECK(transformer.forward({}, nullptr).ok());
  transformer.logits(nullptr, 0, nullptr);
  const Ids ids = {1, 2, 3};
  const ChainPages pages(model.layout(), 3), other(model.layout(), 3);
  std::vector<float> hidden(24), expected(24);
  const std::vector<Slice> slices = {{{}, 0, {}, 0},
                                     {{}, 64, pages.pages(), 0},
                                     {ids, 0, pages.pages(), 1},
                                     {{}, 0, other.pages(), 0}};
  CHECK(transformer.forward(slices, hidden.data()).ok());
  const Trace trace = run_chain(transformer, model.layout(), ids, 3);
  EXPECT_TRUE(std::equal(hidden.begin(), hidden.end(), trace.hidden.end() - 24));
  CHECK(transformer.forward(std::span(slices).first(2), nullptr).ok());
}

TEST(Transformer, a_slice_writes_its_own_slots_only) {
  RandomModel model;
  ThreadPool pool(1);
  Transformer transformer = model.transformer(pool);
  Random random(test_seed());
  const Ids ids = random_ids(random, 150, 50);
  const ChainPages pages(model.layout(), 192);
  const Slice first = {std::span(ids).first(100), 0, pages.pages(), 0};
  CHECK(transformer.forward(std::span(&first, 1), nullptr).ok());
  const auto before = pages.written(192);
  const Slice second = {std::span(ids).subspan(100), 100, pages.pages(), 0};
  CHECK(transformer.forward(std::span(&second, 1), nullptr).ok());
  const auto after = pages.written(192);
  const size_t token = before.size() / 192;
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + ptrdiff_t(100 * token), after.begin()));
  EXPECT_TRUE(std::equal(before.begin() + ptrdiff_t(150 * token), before.end(),
                         after.begin() + ptrdiff_t(150 * token)));
  EXPECT_FALSE(std::equal(before.begin(), before.end(), after.begin()));
}

// Expects that putting another token at `changed` changes exactly the states of the tokens in
// [changed, last].
void expect_reach(RandomModel& model, size_t changed, size_t last) {
  constexpr size_t kTokens = 200, kWidth = 24;
  ThreadPool pool(1);
  Transformer transformer = model.transformer(pool);
  Random random(changed);
  Ids ids = random_ids(random, kTokens, 50);
  const Trace before = run_chain(transformer, model.layout(), ids, kTokens);
  ids[changed] = (ids[changed] + 1) % 50;
  const Trace after = run_chain(transformer, model.layout(), ids, kTokens);
  for (size_t t = 0; t < kTokens; ++t) {
    const auto row = before.hidden.begin() + static_cast<ptrdiff_t>(t * kWidth);
    const bool same = std::equal(row, row + ptrdiff_t(kWidth),
                                 after.hidden.begin() + static_cast<ptrdiff_t>(t * kWidth));
    ASSERT_EQ(same, t < changed || t > last) << "token " << t << ", changed " << changed;
  }
}

TEST(Transformer, every_earlier_token_counts_and_no_later_one) {
  RandomModel model;
  for (const size_t changed : {0, 1, 63, 64, 100, 199}) expect_reach(model, changed, 199);
}

TEST(Transformer, a_window_hides_what_lies_before_it) {
  RandomModel model;
  model.config.window = {10, 10};  // each layer reaches back 9 tokens
  for (const size_t changed : {0, 60, 64, 130}) expect_reach(model, changed, changed + 18);
}

TEST(Transformer, each_layer_has_its_own_window) {
  RandomModel model;
  model.config.window = {10, 0};
  expect_reach(model, 60, 199);
  model.config.window = {10, 20};
  expect_reach(model, 60, 60 + 9 + 19);
  model.config.window = {1, 1};  // a token sees itself
  expect_reach(model, 64, 64);
}

TEST(Transformer, a_mode_without_sinks_is_the_models_own_window) {
  Random random(test_seed());
  const Ids ids = random_ids(random, 1500, 50);
  ThreadPool pool(2);
  const auto trace = [&](std::vector<int> windows, const AttentionMode& mode) {
    RandomModel model;
    model.config.window = std::move(windows);
    Transformer transformer = model.transformer(pool, KvType::kInt8);
    return run_chain(transformer, model.layout(KvType::kInt8), ids, 400, mode);
  };
  const Trace own = trace({100, 100}, {});
  EXPECT_EQ(trace({0, 0}, {100, 0}), own);
  EXPECT_EQ(trace({0, 0}, {1501, 7}), trace({0, 0}, {})) << "the window hides nothing";
  EXPECT_FALSE(trace({0, 0}, {100, 1}) == own);
  // A layer keeps its own window, be it smaller or larger.
  EXPECT_EQ(trace({10, 0}, {100, 0}), trace({10, 100}, {}));
  EXPECT_EQ(trace({300, 0}, {100, 0}), trace({300, 100}, {}));
  EXPECT_EQ(trace({100, 100}, {64, 64}), own);
}

TEST(Transformer, a_slice_that_is_longer_than_a_pass_is_cut) {
  RandomModel model;
  Random random(test_seed());
  const Ids ids = random_ids(random, Transformer::kRowsMax + 100, 50);
  ThreadPool pool(2);
  Transformer transformer = model.transformer(pool);
  std::vector<size_t> rows;
  transformer.observe([&](int layer, std::span<const Transformer::Row> pass, const float*) {
    if (layer == 0) rows.push_back(pass.size());
  });
  const Trace whole = run_chain(transformer, model.layout(), ids, ids.size());
  EXPECT_EQ(rows, (std::vector<size_t>{Transformer::kRowsMax, 100}));
  EXPECT_EQ(run_chain(transformer, model.layout(), ids, 700), whole);
}

TEST(Transformer, with_a_mode_bits_depend_neither_on_slices_nor_on_batches_nor_on_hidden_pages) {
  RandomModel model;
  Random random(test_seed());
  const Ids ids = random_ids(random, 1300, 50);
  const AttentionMode mode = {130, 70};
  ThreadPool pool(2);
  Transformer transformer = model.transformer(pool);
  const Trace whole = run_chain(transformer, model.layout(), ids, 1300, mode);
  for (const size_t slice : {1, 64, 333}) {
    EXPECT_EQ(run_chain(transformer, model.layout(), ids, slice, mode), whole) << slice;
  }
  const Trace dense = run_chain(transformer, model.layout(), ids, 1300);
  EXPECT_FALSE(dense == whole);

  // The same chain in both modes. The pages that the window hides from a slice are gone.
  constexpr size_t kSlice = 100, kWidth = 24;
  const ChainPages pages(model.layout(), 1300), dense_pages(model.layout(), 1300);
  std::vector<float> hidden(2 * kSlice * kWidth);
  for (int64_t begin = 0; begin < 1300; begin += kSlice) {
    const PageRange unseen = unseen_pages(mode, begin);
    std::vector<uint8_t*> left(pages.pages().begin(), pages.pages().end());
    for (int64_t page = unseen.begin; page < unseen.end; ++page) left[page] = nullptr;
    const auto part = std::span(ids).subspan(begin, kSlice);
    const std::vector<Slice> slices = {{part, begin, left, int{kSlice}, nullptr, mode},
                                       {part, begin, dense_pages.pages(), int{kSlice}}};
    CHECK(transformer.forward(slices, hidden.data()).ok());
    const size_t floats = kSlice * kWidth, at = begin * kWidth;
    ASSERT_TRUE(std::equal(hidden.begin(), hidden.begin() + floats, whole.hidden.begin() + at));
    ASSERT_TRUE(std::equal(hidden.begin() + floats, hidden.end(), dense.hidden.begin() + at));
  }
  EXPECT_EQ(pages.written(1300), whole.kv);
  EXPECT_EQ(dense_pages.written(1300), dense.kv);
}

TEST(Transformer, with_selection_bits_depend_neither_on_slices_nor_on_batches) {
  RandomModel model;
  Random random(test_seed());
  const Ids ids = random_ids(random, 1900, 50);
  const AttentionMode mode = {0, 0, 64, 0};
  ThreadPool pool(2);
  Transformer transformer = model.transformer(pool, KvType::kInt8);
  const KvLayout layout = model.layout(KvType::kInt8);
  const Trace whole = run_chain(transformer, layout, ids, 1900, mode);
  EXPECT_EQ(transformer.selected_tokens(), 1900 - 18 * 64)
      << "there are two candidates from here on";
  for (const size_t slice : {64, 333}) {
    EXPECT_EQ(run_chain(transformer, layout, ids, slice, mode), whole) << slice;
  }
  const Trace dense = run_chain(transformer, layout, ids, 1900);
  EXPECT_FALSE(dense == whole);
  EXPECT_FALSE(run_chain(transformer, layout, ids, 1900, {0, 0, 64, 1}) == whole);
  EXPECT_EQ(run_chain(transformer, layout, ids, 1900, {0, 0, 64, 2}), dense) << "no layer selects";
  EXPECT_EQ(run_chain(transformer, layout, ids, 1900, {0, 0, 1024, 0}), dense)
      << "there are too few pages to choose from";

  // The same chain in both modes, in one batch.
  constexpr size_t kSlice = 100, kWidth = 24;
  const ChainPages pages(layout, 1900), dense_pages(layout, 1900);
  int64_t indexed_pages = 0;
  std::vector<float> hidden(2 * kSlice * kWidth);
  for (int64_t begin = 0; begin < 1900; begin += kSlice) {
    const auto part = std::span(ids).subspan(begin, kSlice);
    const std::vector<Slice> slices = {
        {part, begin, pages.pages(), int{kSlice}, nullptr, mode, &indexed_pages},
        {part, begin, dense_pages.pages(), int{kSlice}}};
    CHECK(transformer.forward(slices, hidden.data()).ok());
    const size_t floats = kSlice * kWidth, at = begin * kWidth;
    ASSERT_TRUE(std::equal(hidden.begin(), hidden.begin() + floats, whole.hidden.begin() + at));
    ASSERT_TRUE(std::equal(hidden.begin() + floats, hidden.end(), dense.hidden.begin() + at));
  }
  EXPECT_EQ(pages.written(1900), whole.kv);
  EXPECT_EQ(dense_pages.written(1900), dense.kv);
}

TEST(Transformer, pages_are_indexed_when_tokens_may_first_choose_them) {
  RandomModel model;
  Random random(test_seed());
  const Ids ids = random_ids(random, 1500, 50);
  ThreadPool pool(2);
  Transformer transformer = model.transformer(pool);
  const KvLayout layout = model.layout();
  const std::vector<uint8_t> untouched(layout.indexed_page_bytes() - layout.page_bytes(), 0xFF);
  // The mode alone does not decide: a dense sequence has drafts later.
  for (const AttentionMode& mode : {AttentionMode{}, {0, 0, 64, 0}}) {
    for (const bool counts : {false, true}) {
      if (!counts && mode.selected > 0) continue;
      const ChainPages pages(layout, 1500);
      int64_t indexed_pages = 0;
      for (const int64_t end : {700, 1100, 1500}) {
        const auto begin = end == 700 ? 0 : end - 400;
        const Slice slice = {
            std::span(ids).subspan(begin, end - begin), begin, pages.pages(), 0, nullptr, mode,
            counts ? &indexed_pages : nullptr};
        CHECK(transformer.forward(std::span(&slice, 1), nullptr).ok());
        // The last token of the slice may not choose the 16 latest pages.
        const int64_t expected = counts ? std::max<int64_t>(0, (end - 1) / 64 - 15) : 0;
        EXPECT_EQ(indexed_pages, expected) << end;
        for (int64_t page = 0; page < std::ssize(pages.pages()); ++page) {
          const uint8_t* index = pages.pages()[page] + layout.page_bytes();
          const bool changed = !std::equal(untouched.begin(), untouched.end(), index);
          EXPECT_EQ(changed, page < expected) << to_string(mode) << ", page " << page;
        }
      }
    }
  }
}

TEST(Transformer, the_position_of_a_chain_in_memory_does_not_matter) {
  RandomModel model;
  ThreadPool pool(1);
  Transformer transformer = model.transformer(pool);
  Random random(test_seed());
  const Ids ids = random_ids(random, 256, 50);
  const Trace trace = run_chain(transformer, model.layout(), ids, 100);
  const ChainPages memory(model.layout(), 256);
  std::vector<uint8_t*> shuffled(memory.pages().begin(), memory.pages().end());
  std::reverse(shuffled.begin(), shuffled.end());
  std::vector<float> hidden(256 * 24);
  const Slice slice = {ids, 0, shuffled, 256};
  CHECK(transformer.forward(std::span(&slice, 1), hidden.data()).ok());
  EXPECT_EQ(hidden, trace.hidden);
}

TEST(Transformer, logits_are_products_with_the_head_and_nothing_is_written_behind_them) {
  RandomModel model;
  ThreadPool pool(2);
  Transformer transformer = model.transformer(pool);
  Random random(test_seed());
  for (const int rows : {1, 2, 15, 16, 17, 40}) {
    const std::vector<float> hidden = random_vector(random, rows * 24, 0);
    std::vector<float> logits(static_cast<size_t>(rows) * 50 + 16, 12345.0f);
    transformer.logits(hidden.data(), rows, logits.data());
    for (int row = 0; row < rows; ++row) {
      for (int token = 0; token < 50; ++token) {
        float weights[24];
        get_row(model.weights.embedding, token, weights);
        const double expected =
            std::inner_product(weights, weights + 24, hidden.begin() + row * 24, 0.0);
        ASSERT_NEAR(logits[static_cast<size_t>(row * 50 + token)], expected, 1e-5);
      }
    }
    ASSERT_EQ(std::count(logits.begin() + rows * 50, logits.end(), 12345.0f), 16);
  }
}

TEST(Transformer, a_head_of_its_own_is_used_where_there_is_one) {
  RandomModel model;
  Random random(7);
  model.weights.head = random_matrix(random, 50, 24, model.memory);
  ThreadPool pool(1);
  Transformer transformer = model.transformer(pool);
  const std::vector<float> hidden = random_vector(random, 24, 0);
  float weights[24];
  get_row(model.weights.head, 49, weights);
  std::vector<float> logits(50);
  transformer.logits(hidden.data(), 1, logits.data());
  EXPECT_NEAR(logits[49], std::inner_product(weights, weights + 24, hidden.begin(), 0.0), 1e-5);
}

TEST(TransformerDeath, slices_that_break_their_rules_are_bugs) {
  // An emulated program cannot start itself.
  GTEST_FLAG_SET(death_test_style, kEmulated ? "fast" : "threadsafe");
  RandomModel model;
  ThreadPool pool(1);
  Transformer transformer = model.transformer(pool);
  const ChainPages pages(model.layout(), 64);
  std::vector<float> hidden(65 * 24);
  const auto forward = [&](const Ids& ids, int64_t position, int outputs) {
    const Slice slice = {ids, position, pages.pages(), outputs};
    CHECK(transformer.forward(std::span(&slice, 1), hidden.data()).ok());
  };
  EXPECT_DEATH(forward({50}, 0, 1), "check failed") << "beyond the vocabulary";
  EXPECT_DEATH(forward({-1}, 0, 1), "check failed");
  EXPECT_DEATH(forward({1}, -1, 1), "check failed") << "before the start";
  EXPECT_DEATH(forward({1}, 64, 1), "check failed") << "beyond the pages";
  EXPECT_DEATH(forward({1, 2}, 63, 1), "check failed");
  EXPECT_DEATH(forward({1}, std::numeric_limits<int64_t>::max(), 1), "check failed")
      << "the sum overflows";
  EXPECT_DEATH(forward({1}, 0, 2), "check failed") << "more states than tokens";
  EXPECT_DEATH(forward({1}, 0, -1), "check failed");
}

}  // namespace
}  // namespace cascade::testing
