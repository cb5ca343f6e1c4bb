// Attention over sequences of which some pages are absent: the bits are those of a pass with all
// pages in memory, and only what a row may see is read.
#include "model/attention_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "model/transformer.h"
#include "tests/seed.h"

namespace cascade {
namespace {

constexpr int kPassDim = 8, kQueryHeads = 4, kKvHeads = 2, kPassLayers = 3;
constexpr size_t kPassWidth = size_t{kPassDim} * kQueryHeads;
constexpr int kChainTokens = 3500;  // four splits
constexpr int kPassRowsMax = 64;
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
        memory_.emplace_back(allocate_aligned(layout.page_bytes()));
        std::memset(memory_.back().get(), 0, layout.page_bytes());
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
  }

  Status read(int layer, std::span<const int32_t> pages, uint8_t* to) override {
    if (++reads_ == fails_at) return Error{ErrorCode::kIo, "file", "cannot be read"};
    for (const int32_t page : pages) {
      EXPECT_EQ(pages_[page], nullptr);
      EXPECT_TRUE(parts_read.insert({layer, page}).second) << "a part is read twice";
      std::memcpy(to, memory_[page].get() + layout_.part_bytes() * layer, layout_.part_bytes());
      to += layout_.part_stride();
    }
    return {};
  }

  void be_absent(int page) { pages_[page] = nullptr; }
  KvPages pages() const { return pages_; }

  int fails_at = 0;
  std::set<std::pair<int, int>> parts_read;  // layer, page

 private:
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
};

// Runs a pass as Transformer does; returns the outputs of all layers, or the error.
class Passes {
 public:
  Passes(KvType type, size_t stage_bytes, int threads)
      : layout_(kv_layout(config_, type)),
        pool_(threads),
        pass_(config_, **kernels_for(best_isa()), layout_, pool_, kPassRowsMax, stage_bytes) {}

  const KvLayout& layout() const { return layout_; }

  Result<std::vector<float>> run(const std::vector<PassSequence>& sequences) {
    std::vector<Slice> slices;
    std::vector<SliceRow> rows;
    for (const PassSequence& sequence : sequences) {
      const int slice = static_cast<int>(slices.size());
      slices.push_back({{}, sequence.position, sequence.chain->pages(), 0, sequence.chain});
      for (int i = 0; i < sequence.rows; ++i) {
        rows.push_back({slice, sequence.position + i, i >= sequence.rows - sequence.outputs});
      }
    }
    Random random(7);
    std::vector<float> queries(rows.size() * kPassWidth);
    for (float& x : queries) x = static_cast<float>(random.unit() * 4 - 2);
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
      // The first sequence is a slice of a prompt, the second one a decode step.
      const std::vector<PassSequence> sequences = {
          {&a, kChainTokens - 20, 20, 1}, {&b, 2000, 1, 1}, {&c, 1500, 3, 2}};
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

}  // namespace
}  // namespace cascade
