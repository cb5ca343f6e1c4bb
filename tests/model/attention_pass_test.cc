// Attention over sequences of which some pages are absent, and in several modes: the bits are those
// of a row alone with all pages in memory, and only what a row may see is read.
#include "model/attention_pass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "tests/emulated.h"
#include "tests/model/absent_chain.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::AbsentChain;
using testing::config_with_windows;
using testing::kChainTokens;
using testing::kKvHeads;
using testing::kMiddleWindow;
using testing::kPassDim;
using testing::kPassLayers;
using testing::kPassWidth;
using testing::kQueryHeads;
using testing::Passes;
using testing::PassSequence;
using testing::queries_at;

TEST(AttentionPass, over_absent_pages_gives_the_bits_of_a_pass_in_memory) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    for (const size_t stage_splits : {1, 2, 100}) {
      const KvLayout layout = kv_layout(config_with_windows(), type);
      const size_t stage_bytes = stage_splits * kSplitKeys / kPageTokens * layout.parts[0].stride();
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
  // The first and the last layer have two stages each: buffers have room for a split of blocks,
  // which is three splits of parts. The middle layer has one: its window sees eleven absent pages.
  for (int failing = 1; failing <= 5; ++failing) {
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
