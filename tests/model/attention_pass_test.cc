// Attention over sequences of which some pages are absent, and in several modes: the bits are those
// of a row alone with all pages in memory, and only what a row may see is read.
#include "model/attention_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "kernels/kv_format.h"
#include "kernels/page_index.h"
#include "model/transformer.h"
#include "tests/emulated.h"
#include "tests/seed.h"

namespace cascade {
namespace {

constexpr int kPassDim = 8, kQueryHeads = 4, kKvHeads = 2, kPassLayers = 3;
constexpr size_t kPassWidth = size_t{kPassDim} * kQueryHeads;
constexpr int kChainTokens = 3500;  // four splits
constexpr int kMiddleWindow = 700;  // of the middle layer

ModelConfig config_with_windows() {
  ModelConfig config;
  config.layers = kPassLayers;
  config.query_heads = kQueryHeads;
  config.kv_heads = kKvHeads;
  config.head_dim = kPassDim;
  config.attention_scale = 1 / std::sqrt(float{kPassDim});
  config.window = {0, kMiddleWindow, 0};
  return config;
}

// A chain of random K and V. Some of its pages are absent and have to be read.
class AbsentChain : public KvPartReader {
 public:
  AbsentChain(Random& random, const KvLayout& layout) : layout_(layout) {
    const Kernels& kernels = **kernels_for(Isa::kScalar);
    for (int token = 0; token < kChainTokens; ++token) {
      const int slot = token % kPageTokens;
      if (slot == 0) {
        memory_.emplace_back(allocate_aligned(layout.indexed_page_bytes()));
        std::memset(memory_.back().get(), 0, layout.indexed_page_bytes());
        pages_.push_back(memory_.back().get());
      }
      for (int layer = 0; layer < layout.layers; ++layer) {
        for (int head = 0; head < layout.kv_heads; ++head) {
          float key[kPassDim], value[kPassDim];
          for (float& x : key) x = static_cast<float>(random.unit() * 4 - 2);
          for (float& x : value) x = static_cast<float>(random.unit() * 4 - 2);
          kernels.write_kv(layout.type, kPassDim, slot, key, value,
                           pages_.back() + layout.key_offset(layer, head),
                           pages_.back() + layout.value_offset(layer, head));
        }
      }
    }
    for (uint8_t* page : pages_) index(page);
  }

  Status read(int layer, std::span<const int32_t> pages, uint8_t* to) override {
    if (++reads_ == fails_at) return Error{ErrorCode::kIo, "file", "cannot be read"};
    for (const int32_t page : pages) {
      EXPECT_EQ(pages_[page], nullptr);
      EXPECT_TRUE(parts_read.insert({layer, page}).second || reads_again) << "a part is read twice";
      std::memcpy(to, memory_[page].get() + layout_.part_bytes() * layer, layout_.part_bytes());
      to += layout_.part_stride();
    }
    return {};
  }

  void be_absent(int page) { pages_[page] = nullptr; }
  KvPages pages() const { return pages_; }

  // The float of K or V at channel `d` of a token. Precondition: the type is f32.
  float number(int layer, int head, int token, bool value, int d) const {
    const size_t block =
        value ? layout_.value_offset(layer, head) : layout_.key_offset(layer, head);
    const int slot = token % kPageTokens;
    const size_t index = value ? value_index(KvType::kF32, kPassDim, slot, d)
                               : key_index(KvType::kF32, kPassDim, slot, d);
    float x;
    std::memcpy(&x, memory_[token / kPageTokens].get() + block + index * sizeof x, sizeof x);
    return x;
  }

  bool readable = true;      // absent pages may be read
  bool reads_again = false;  // several slices of a pass have this chain
  int fails_at = 0;
  std::set<std::pair<int, int>> parts_read;  // layer, page

 private:
  void index(uint8_t* page) const {
    std::vector<float> scratch(index_page_scratch_floats(kPassDim));
    for (int layer = 0; layer < layout_.layers; ++layer) {
      for (int head = 0; head < layout_.kv_heads; ++head) {
        index_page(layout_.type, kPassDim, page + layout_.key_offset(layer, head), scratch.data(),
                   page + layout_.index_offset(layer, head));
      }
    }
  }

  const KvLayout layout_;
  std::vector<AlignedBytes> memory_;
  std::vector<uint8_t*> pages_;
  int reads_ = 0;
};

struct PassSequence {
  AbsentChain* chain;
  int position;
  int rows;
  int outputs;
  AttentionMode mode = {};
};

std::vector<float> queries_at(int64_t position) {
  Random random(static_cast<uint64_t>(position));
  std::vector<float> queries(kPassWidth);
  for (float& x : queries) x = static_cast<float>(random.unit() * 4 - 2);
  return queries;
}

// Runs a pass as Transformer does; returns the outputs of all layers, or the error.
class Passes {
 public:
  Passes(KvType type, size_t stage_bytes, int threads)
      : layout_(kv_layout(config_, type)),
        pool_(threads),
        pass_(config_, **kernels_for(best_isa()), layout_, pool_, stage_bytes) {}

  const KvLayout& layout() const { return layout_; }

  Result<std::vector<float>> run(const std::vector<PassSequence>& sequences) {
    std::vector<Slice> slices;
    std::vector<SliceRow> rows;
    int64_t indexed_pages = INT64_MAX;  // random pages have random indexes
    for (const PassSequence& sequence : sequences) {
      const int slice = static_cast<int>(slices.size());
      KvPartReader* const reader = sequence.chain->readable ? sequence.chain : nullptr;
      slices.push_back({{},
                        sequence.position,
                        sequence.chain->pages(),
                        0,
                        reader,
                        sequence.mode,
                        &indexed_pages});
      for (int i = 0; i < sequence.rows; ++i) {
        rows.push_back({slice, sequence.position + i, i >= sequence.rows - sequence.outputs});
      }
    }
    // A row's queries depend on its position alone, so that it is the same row in every pass.
    std::vector<float> queries;
    for (const SliceRow& row : rows) {
      const std::vector<float> own = queries_at(row.position);
      queries.insert(queries.end(), own.begin(), own.end());
    }
    std::vector<float> all;
    pass_.begin(rows, slices);
    const Status done = attend_layers(rows, queries, all);
    pass_.end();
    if (!done.ok()) return done.error();
    return all;
  }

 private:
  Status attend_layers(std::vector<SliceRow>& rows, std::vector<float>& queries,
                       std::vector<float>& all) {
    for (int layer = 0; layer < kPassLayers; ++layer) {
      if (layer + 1 == kPassLayers) {
        size_t kept = 0;
        for (size_t row = 0; row < rows.size(); ++row) {
          if (!rows[row].output) continue;
          std::copy_n(queries.begin() + row * kPassWidth, kPassWidth,
                      queries.begin() + kept * kPassWidth);
          rows[kept++] = rows[row];
        }
        rows.resize(kept);
        if (rows.empty()) return {};
        pass_.keep(rows);
      }
      std::vector<float> outputs(rows.size() * kPassWidth, -1);
      RETURN_IF_ERROR(
          pass_.attend(layer, {queries.data(), kPassWidth}, {outputs.data(), kPassWidth}));
      all.insert(all.end(), outputs.begin(), outputs.end());
    }
    return {};
  }

  const ModelConfig config_ = config_with_windows();
  const KvLayout layout_;
  ThreadPool pool_;
  AttentionPass pass_;
};

TEST(AttentionPass, over_absent_pages_gives_the_bits_of_a_pass_in_memory) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    for (const size_t stage_splits : {1, 2, 100}) {
      const KvLayout layout = kv_layout(config_with_windows(), type);
      const size_t stage_bytes = stage_splits * kSplitKeys / kPageTokens * layout.part_stride();
      Passes passes(type, stage_bytes, 1 + static_cast<int>(random.below(3)));
      AbsentChain a(random, layout), b(random, layout), c(random, layout);
      b.reads_again = true;
      // The first sequence is a slice of a prompt, the second one a decode step. The last two are
      // the same step in other modes.
      const std::vector<PassSequence> sequences = {{&a, kChainTokens - 20, 20, 1},
                                                   {&b, 2000, 1, 1},
                                                   {&c, 1500, 3, 2},
                                                   {&b, 2000, 1, 1, {300, 65}},
                                                   {&b, 2000, 1, 1, {1100, 0}}};
      const auto expected = passes.run(sequences);
      ASSERT_TRUE(expected.ok());
      for (int page = 0; page < (kChainTokens - 20) / kPageTokens; ++page) {
        if (random.below(3) != 0) a.be_absent(page);
      }
      for (int page = 0; page < 2000 / kPageTokens; ++page) b.be_absent(page);
      const auto actual = passes.run(sequences);
      ASSERT_TRUE(actual.ok());
      ASSERT_EQ(actual->size(), expected->size());
      EXPECT_EQ(std::memcmp(actual->data(), expected->data(), actual->size() * sizeof(float)), 0)
          << to_string(type) << " with stages of " << stage_splits << " splits";
    }
  }
}

TEST(AttentionPass, reads_each_part_that_a_row_may_see_once) {
  Random random(testing::test_seed());
  Passes passes(KvType::kInt8, 1, 1);
  AbsentChain chain(random, passes.layout());
  for (const int page : {0, 3, 17, 30, 40, 53}) chain.be_absent(page);
  // The first row of the middle layer sees 1,801 and later keys; page 53 is after the last row.
  ASSERT_TRUE(passes.run({{&chain, 2500, 2, 1}}).ok());
  const std::set<std::pair<int, int>> expected = {{0, 0}, {0, 3}, {0, 17}, {0, 30}, {1, 30},
                                                  {2, 0}, {2, 3}, {2, 17}, {2, 30}};
  EXPECT_EQ(chain.parts_read, expected);
}

TEST(AttentionPass, reads_only_the_parts_in_windows_and_sinks) {
  Random random(testing::test_seed());
  Passes passes(KvType::kInt8, 1, 1);
  AbsentChain chain(random, passes.layout());
  for (const int page : {0, 1, 2, 3, 17, 30, 35, 36, 38, 53}) chain.be_absent(page);
  // The first row sees 65 sinks, and 2,301 and later keys, which are in page 35 and later ones.
  ASSERT_TRUE(passes.run({{&chain, 2500, 2, 1, {200, 65}}}).ok());
  const std::set<std::pair<int, int>> expected = {{0, 0},  {0, 1},  {0, 35}, {0, 36}, {0, 38},
                                                  {1, 30}, {1, 35}, {1, 36}, {1, 38}, {2, 0},
                                                  {2, 1},  {2, 35}, {2, 36}, {2, 38}};
  EXPECT_EQ(chain.parts_read, expected);
}

TEST(AttentionPass, reads_nothing_for_the_last_layer_of_rows_that_are_no_outputs) {
  Random random(testing::test_seed());
  Passes passes(KvType::kInt8, 1, 1);
  AbsentChain chain(random, passes.layout());
  chain.be_absent(2);
  ASSERT_TRUE(passes.run({{&chain, 200, 3, 0}}).ok());
  EXPECT_EQ(chain.parts_read, (std::set<std::pair<int, int>>{{0, 2}, {1, 2}}));
}

TEST(AttentionPass, ends_with_the_readers_error_and_can_be_made_again) {
  Random random(testing::test_seed());
  Passes passes(KvType::kBf16, 1, 2);
  AbsentChain chain(random, passes.layout());
  const std::vector<PassSequence> sequences = {{&chain, kChainTokens - 5, 5, 1}};
  const auto expected = passes.run(sequences);
  ASSERT_TRUE(expected.ok());
  for (int page = 0; page < kChainTokens / kPageTokens; ++page) chain.be_absent(page);
  // The first and the last layer have four stages each. The middle one has one: the window sees
  // eleven absent pages, which fit.
  for (int failing = 1; failing <= 9; ++failing) {
    AbsentChain copy(random, passes.layout());
    for (int page = 0; page < kChainTokens / kPageTokens; ++page) copy.be_absent(page);
    copy.fails_at = failing;
    const auto failed = passes.run({{&copy, kChainTokens - 5, 5, 1}});
    ASSERT_FALSE(failed.ok()) << failing;
    EXPECT_EQ(failed.error().message, "cannot be read");
  }
  const auto actual = passes.run(sequences);
  ASSERT_TRUE(actual.ok());
  EXPECT_EQ(std::memcmp(actual->data(), expected->data(), actual->size() * sizeof(float)), 0);
}

// The attention of one query over the keys that `mode` shows, or those of the chosen pages, in
// plain f64.
std::vector<double> attended(const AbsentChain& chain, int layer, int query_head, int position,
                             const AttentionMode& mode, const uint64_t* chosen = nullptr) {
  const int head = query_head / (kQueryHeads / kKvHeads);
  const std::vector<float> queries = queries_at(position);
  std::vector<double> out(kPassDim);
  double sum = 0;
  for (int key = 0; key <= position; ++key) {
    if (mode.window > 0 && key <= position - mode.window && key >= mode.sinks) continue;
    const int page = key / kPageTokens;
    if (chosen != nullptr && (chosen[page / 64] >> (page % 64) & 1) == 0) continue;
    double score = 0;
    for (int d = 0; d < kPassDim; ++d) {
      score +=
          double{queries[query_head * kPassDim + d]} * chain.number(layer, head, key, false, d);
    }
    const double e = std::exp(score / std::sqrt(double{kPassDim}));
    sum += e;
    for (int d = 0; d < kPassDim; ++d) out[d] += e * chain.number(layer, head, key, true, d);
  }
  for (double& x : out) x /= sum;
  return out;
}

TEST(AttentionPass, a_row_sees_its_window_and_the_sinks) {
  Random random(testing::test_seed());
  Passes passes(KvType::kF32, 1, 2);
  AbsentChain chain(random, passes.layout());
  for (const AttentionMode mode :
       {AttentionMode{64, 0}, {1, 1}, {100, 70}, {1500, 65}, {9999, 3}}) {
    for (const int position : {0, 64, 2047, kChainTokens - 1}) {
      const auto all = passes.run({{&chain, position, 1, 1, mode}});
      ASSERT_TRUE(all.ok());
      for (int layer = 0; layer < kPassLayers; ++layer) {
        // The middle layer has a window of its own.
        const AttentionMode of_layer = layer == 1 ? AttentionMode{kMiddleWindow, 0} : mode;
        for (int head = 0; head < kQueryHeads; ++head) {
          const std::vector<double> expected = attended(chain, layer, head, position, of_layer);
          for (int d = 0; d < kPassDim; ++d) {
            ASSERT_NEAR((*all)[layer * kPassWidth + head * kPassDim + d], expected[d], 1e-5)
                << to_string(mode) << ", position " << position << ", layer " << layer;
          }
        }
      }
    }
  }
}

// Channel for channel the sum over the keys of what the row chose; the middle layer has a window.
TEST(AttentionPass, a_row_that_selects_sees_the_pages_that_it_chose) {
  Random random(testing::test_seed());
  Passes passes(KvType::kF32, 1, 2);
  AbsentChain chain(random, passes.layout());
  const AttentionMode mode = {0, 0, 192, 1};
  const int position = kChainTokens - 1;
  const auto all = passes.run({{&chain, position, 1, 1, mode}});
  const auto dense = passes.run({{&chain, position, 1, 1}});
  ASSERT_TRUE(all.ok() && dense.ok());
  EXPECT_TRUE(std::equal(all->begin(), all->begin() + 2 * kPassWidth, dense->begin()))
      << "the first layer is dense, the second one has a window";
  const ModelConfig config = config_with_windows();
  PageChoice choice(config, **kernels_for(best_isa()), passes.layout());
  const std::vector<float> queries = queries_at(position);
  for (int head = 0; head < kQueryHeads; ++head) {
    const int kv_head = head / (kQueryHeads / kKvHeads);
    const PageChoice::Row row = {
        position, queries.data() + kv_head * (kQueryHeads / kKvHeads) * kPassDim, chain.pages()};
    choice.reserve(position);
    choice.choose(mode, 2, kv_head, std::span(&row, 1));
    const uint64_t* chosen = choice.of_row(0);
    ASSERT_NE(chosen, nullptr);
    const std::vector<double> expected = attended(chain, 2, head, position, {}, chosen);
    for (int d = 0; d < kPassDim; ++d) {
      ASSERT_NEAR((*all)[2 * kPassWidth + head * kPassDim + d], expected[d], 1e-5);
    }
  }
}

TEST(AttentionPass, rows_in_several_modes_have_the_bits_of_rows_alone) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    Passes passes(type, 1, 3);
    AbsentChain a(random, passes.layout()), b(random, passes.layout());
    const std::vector<PassSequence> sequences = {{&a, 3000, 5, 5},
                                                 {&b, 2000, 1, 1, {300, 64}},
                                                 {&a, 3000, 5, 5, {300, 64}},
                                                 {&b, 0, 30, 30, {64, 0}},
                                                 {&a, 3000, 1, 1},
                                                 {&a, 3001, 2, 2, {300, 64}},
                                                 {&b, 3400, 1, 1, {64, 64}},
                                                 {&a, 3010, 40, 40, {0, 0, 128, 0}},
                                                 {&b, 3400, 1, 1, {0, 0, 128, 0}},
                                                 {&b, 1100, 70, 70, {0, 0, 64, 0}},
                                                 {&a, 3400, 1, 1, {0, 0, 64, 2}},
                                                 {&b, 1100, 2, 2}};
    const auto together = passes.run(sequences);
    ASSERT_TRUE(together.ok());
    const size_t rows = together->size() / kPassWidth / kPassLayers;
    size_t first = 0;
    for (const PassSequence& sequence : sequences) {
      const auto alone = passes.run({sequence});
      ASSERT_TRUE(alone.ok());
      const size_t floats = sequence.rows * kPassWidth;
      for (size_t layer = 0; layer < kPassLayers; ++layer) {
        ASSERT_EQ(std::memcmp(together->data() + (layer * rows + first) * kPassWidth,
                              alone->data() + layer * floats, floats * sizeof(float)),
                  0)
            << to_string(type) << ", row " << first << ", layer " << layer;
      }
      first += sequence.rows;
    }
    EXPECT_EQ(first, rows);
  }
}

TEST(AttentionPass, pages_that_no_row_sees_need_not_exist) {
  Random random(testing::test_seed());
  Passes passes(KvType::kInt8, 1, 2);
  AbsentChain chain(random, passes.layout());
  chain.readable = false;
  const std::vector<PassSequence> sequences = {{&chain, 3000, 20, 20, {1000, 65}},
                                               {&chain, 3010, 1, 1, {800, 0}}};
  const auto expected = passes.run(sequences);
  ASSERT_TRUE(expected.ok());
  // The window of the first row begins with the key 2,001.
  for (int page = 2; page < 2001 / kPageTokens; ++page) chain.be_absent(page);
  const auto actual = passes.run(sequences);
  ASSERT_TRUE(actual.ok());
  EXPECT_EQ(*actual, *expected);
}

TEST(AttentionPassDeath, a_page_that_a_row_sees_must_exist) {
  // An emulated program cannot start itself.
  GTEST_FLAG_SET(death_test_style, testing::kEmulated ? "fast" : "threadsafe");
  Random random(testing::test_seed());
  Passes passes(KvType::kInt8, 1, 1);
  const auto run_without = [&](int page, const AttentionMode& mode) {
    AbsentChain chain(random, passes.layout());
    chain.readable = false;
    chain.be_absent(page);
    return passes.run({{&chain, 3000, 1, 1, mode}}).ok();
  };
  EXPECT_TRUE(run_without(20, {200, 64}));
  EXPECT_DEATH(run_without(20, {}), "check failed");
  EXPECT_DEATH(run_without(0, {200, 64}), "check failed");
  EXPECT_DEATH(run_without(45, {200, 64}), "check failed");
  // The middle layer has a window of 700 of its own.
  EXPECT_DEATH(run_without(36, {200, 64}), "check failed");
}

}  // namespace
}  // namespace cascade
