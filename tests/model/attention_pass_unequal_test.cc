// Attention where layers have different heads, and some use K and V of earlier layers: the bits are
// those of a pass with all pages in memory, and each part is read where its layers need it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "model/attention_pass.h"
#include "tests/model/absent_chain.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::AbsentChain;
using testing::config_of_unequal_layers;
using testing::kChainTokens;
using testing::kMiddleWindow;
using testing::pass_width;
using testing::Passes;
using testing::PassSequence;
using testing::queries_at;

// The first has blocks that may be read alone; V of the second is padded.
constexpr int kFullDims[] = {32, 24};
// Blocks are read, whatever they take.
constexpr double kOnlyBlocks = 1000;

// The bytes of so many splits of the largest part.
size_t unequal_stage_bytes(const KvLayout& layout, size_t splits) {
  const auto largest = std::ranges::max(layout.parts, {}, &KvPartLayout::stride);
  return splits * kSplitKeys / kPageTokens * largest.stride();
}

void expect_bits_of_memory(Random& random, int full_dim, KvType type) {
  const ModelConfig config = config_of_unequal_layers(full_dim);
  const KvLayout layout = kv_layout(config, type);
  const size_t splits = size_t{1} << random.below(4);
  const double blocks_share = random.below(3) == 0 ? 0 : kOnlyBlocks;
  Passes passes(config, type, unequal_stage_bytes(layout, splits),
                1 + static_cast<int>(random.below(3)), blocks_share);
  AbsentChain a(random, layout), b(random, layout);
  a.reads_again = b.reads_again = true;
  const std::vector<PassSequence> sequences = {
      {&a, kChainTokens - 20, 20, 1},
      {&b, 2000, 3, 2},
      {&b, 2000, 1, 1, {300, 65}},
      {&b, 18 * kPageTokens - 40, 70, 70, {0, 0, 64}},  // the last rows select
      {&a, kChainTokens - 20, 20, 1, {0, 0, 128, 2}},
  };
  const auto expected = passes.run(sequences);
  ASSERT_TRUE(expected.ok());
  for (int page = 0; page < (kChainTokens - 20) / kPageTokens; ++page) {
    if (random.below(3) != 0) a.be_absent(page);
    if (page < (18 * kPageTokens - 40) / kPageTokens) b.be_absent(page);
  }
  const auto actual = passes.run(sequences);
  ASSERT_TRUE(actual.ok());
  EXPECT_TRUE(*actual == *expected)
      << to_string(type) << ", heads of " << full_dim << ", stages of " << splits << " splits";
  EXPECT_EQ(a.blocks_read.empty(), blocks_share == 0 || full_dim % 16 != 0);
}

TEST(AttentionPass, of_unequal_layers_has_the_bits_of_a_pass_in_memory) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    for (const int full_dim : kFullDims) expect_bits_of_memory(random, full_dim, type);
  }
}

TEST(AttentionPass, reads_parts_for_each_layer_that_uses_them) {
  Random random(testing::test_seed());
  const ModelConfig config = config_of_unequal_layers(32);
  Passes passes(config, KvType::kInt8, 1, 2);
  AbsentChain chain(random, passes.layout());
  chain.reads_again = true;
  for (const int page : {0, 3, 17, 30, 40, 53}) chain.be_absent(page);
  // The first row of layers with the window sees 1,801 and later keys.
  ASSERT_TRUE(passes.run({{&chain, 2500, 2, 1}}).ok());
  const std::set<std::pair<int, int>> expected = {{0, 30}, {1, 0},  {1, 3},
                                                  {1, 17}, {1, 30}, {2, 30}};
  EXPECT_EQ(chain.parts_read, expected);
}

// The third layer is the last one that computes K and V.
TEST(AttentionPass, reads_nothing_from_the_last_layer_with_k_and_v_on_without_outputs) {
  Random random(testing::test_seed());
  Passes passes(config_of_unequal_layers(32), KvType::kInt8, 1, 1);
  AbsentChain chain(random, passes.layout());
  chain.be_absent(2);
  ASSERT_TRUE(passes.run({{&chain, 200, 3, 0}}).ok());
  EXPECT_EQ(chain.parts_read, (std::set<std::pair<int, int>>{{0, 2}, {1, 2}}));
}

// What a query head of the row at `position` sees in `layer`, in plain f64.
std::vector<double> seen_by_head(const AbsentChain& chain, const ModelConfig& config, int layer,
                                 int query_head, int position) {
  const AttentionShape shape = config.attention_shape(layer);
  const int head = query_head / (config.query_heads / shape.kv_heads);
  const std::vector<float> queries = queries_at(position, pass_width(config));
  const int window = config.window[size_t(layer)];
  std::vector<double> out(size_t(shape.head_dim));
  double sum = 0;
  for (int key = window > 0 ? std::max(0, position - window + 1) : 0; key <= position; ++key) {
    double score = 0;
    for (int d = 0; d < shape.head_dim; ++d) {
      score += double{queries[size_t(query_head * shape.head_dim + d)]} *
               chain.number(shape.kv_part, head, key, false, d);
    }
    const double e = std::exp(score * double{config.attention_scale});
    sum += e;
    for (size_t d = 0; d < out.size(); ++d) {
      out[d] += e * chain.number(shape.kv_part, head, key, true, static_cast<int>(d));
    }
  }
  for (double& x : out) x /= sum;
  return out;
}

TEST(AttentionPass, each_layer_attends_to_its_part_with_heads_of_its_size) {
  Random random(testing::test_seed());
  for (const int full_dim : kFullDims) {
    const ModelConfig config = config_of_unequal_layers(full_dim);
    const size_t width = pass_width(config);
    Passes passes(config, KvType::kF32, 1, 2);
    AbsentChain chain(random, passes.layout());
    for (const int position : {kMiddleWindow - 1, kChainTokens - 1}) {
      const auto all = passes.run({{&chain, position, 1, 1}});
      ASSERT_TRUE(all.ok());
      for (int layer = 0; layer < config.layers; ++layer) {
        const float* next = all->data() + size_t(layer) * width;
        for (int head = 0; head < config.query_heads; ++head) {
          for (const double expected : seen_by_head(chain, config, layer, head, position)) {
            ASSERT_NEAR(*next++, expected, 2e-5)
                << "position " << position << ", layer " << layer << ", head " << head;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace cascade
