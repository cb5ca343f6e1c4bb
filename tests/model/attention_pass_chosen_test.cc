// Rows that choose pages which are not in memory: they choose before anything is read, and have the
// bits of rows with all pages in memory.
#include <gtest/gtest.h>

#include <vector>

#include "model/attention_pass.h"
#include "tests/model/absent_chain.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::AbsentChain;
using testing::config_with_windows;
using testing::kChainTokens;
using testing::kKvHeads;
using testing::kMiddleWindow;
using testing::kPassLayers;
using testing::Passes;
using testing::PassSequence;

// The blocks of these small heads take more bytes than parts.
constexpr double kAlwaysBlocks = 1000;

TEST(AttentionPass, over_absent_pages_chooses_before_it_reads_and_has_the_same_bits) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    for (const size_t stage_splits : {1, 2, 100}) {
      const KvLayout layout = kv_layout(config_with_windows(), type);
      const size_t stage_bytes = stage_splits * kSplitKeys / kPageTokens * layout.parts[0].stride();
      Passes passes(type, stage_bytes, 1 + static_cast<int>(random.below(3)),
                    stage_splits == 2 ? 0 : kAlwaysBlocks);
      AbsentChain a(random, layout), b(random, layout), c(random, layout);
      b.reads_again = true;
      // The first rows of the second slice do not select yet, its last ones do.
      const std::vector<PassSequence> sequences = {{&a, kChainTokens - 60, 60, 1, {0, 0, 128, 0}},
                                                   {&b, 18 * kPageTokens - 40, 70, 70, {0, 0, 64}},
                                                   {&c, kChainTokens - 1, 1, 1, {0, 0, 192, 2}},
                                                   {&b, 2000, 3, 3},
                                                   {&b, 2000, 1, 1, {300, 65}}};
      const auto expected = passes.run(sequences);
      ASSERT_TRUE(expected.ok());
      for (int page = 0; page < (kChainTokens - 60) / kPageTokens; ++page) {
        if (random.below(3) != 0) a.be_absent(page);
        if (page < (18 * kPageTokens - 40) / kPageTokens) b.be_absent(page);
        c.be_absent(page);
      }
      const auto actual = passes.run(sequences);
      ASSERT_TRUE(actual.ok());
      EXPECT_TRUE(*actual == *expected)
          << to_string(type) << " with stages of " << stage_splits << " splits";
    }
  }
}

TEST(AttentionPass, reads_only_what_some_row_chose) {
  Random random(testing::test_seed());
  for (const double blocks_share : {0.0, kAlwaysBlocks}) {
    Passes passes(KvType::kInt8, 1, 2, blocks_share);
    AbsentChain chain(random, passes.layout());
    const AttentionMode mode = {0, 0, 128, 0};
    const int position = kChainTokens - 1;
    for (int page = 0; page < position / kPageTokens; ++page) chain.be_absent(page);
    ASSERT_TRUE(passes.run({{&chain, position, 1, 1, mode}}).ok());
    std::vector<int> parts(kPassLayers), blocks(kPassLayers);
    for (const auto& [layer, page] : chain.parts_read) ++parts[layer];
    for (const auto& [layer, block] : chain.blocks_read) ++blocks[layer];
    // The first page, 15 recent ones, and two for each KV head, which may be the same.
    for (const int layer : {0, 2}) {
      EXPECT_GE(parts[layer], 18);
      EXPECT_LE(parts[layer], 20);
      EXPECT_EQ(blocks[layer], blocks_share > 0 ? 18 * kKvHeads : 0);
    }
    EXPECT_EQ(parts[1], kMiddleWindow / kPageTokens + 1) << "its own window, but for its last page";
    EXPECT_EQ(blocks[1], 0) << "all heads see the same";
  }
}

// The only output is the last row, whose window hides what the other rows see.
TEST(AttentionPass, that_chooses_reads_no_more_in_the_last_layer_than_outputs_see) {
  Random random(testing::test_seed());
  constexpr int kLastWindow = 500;
  Passes passes(KvType::kInt8, 1, 2, 0, kLastWindow);
  AbsentChain chain(random, passes.layout());
  const std::vector<PassSequence> sequences = {{&chain, 1500, 1900, 1, {0, 0, 128, 0}}};
  const auto expected = passes.run(sequences);
  ASSERT_TRUE(expected.ok());
  for (int page = 0; page < 50; ++page) chain.be_absent(page);
  const auto actual = passes.run(sequences);
  ASSERT_TRUE(actual.ok());
  EXPECT_TRUE(*actual == *expected);
  const int first = (1500 + 1900 - kLastWindow) / kPageTokens;
  for (const auto& [layer, page] : chain.parts_read) {
    EXPECT_TRUE(layer != 2 || page >= first) << page;
  }
}

TEST(AttentionPass, that_chooses_ends_with_the_readers_error_and_can_be_made_again) {
  Random random(testing::test_seed());
  Passes passes(KvType::kBf16, 1, 2, random.below(2) == 0 ? 0 : kAlwaysBlocks);
  const std::vector<AttentionMode> modes = {{0, 0, 128, 0}, {0, 0, 64, 1}};
  for (int failing = 1; failing <= 3; ++failing) {
    AbsentChain chain(random, passes.layout());
    const auto expected = passes.run({{&chain, 3000, 5, 1, modes[0]}});
    ASSERT_TRUE(expected.ok());
    for (int page = 0; page < 3000 / kPageTokens; ++page) chain.be_absent(page);
    chain.reads_again = true;
    chain.fails_at = failing;
    const auto failed =
        passes.run({{&chain, 3000, 5, 1, modes[0]}, {&chain, 3005, 1, 1, modes[1]}});
    ASSERT_FALSE(failed.ok()) << failing;
    EXPECT_EQ(failed.error().message, "cannot be read");
    const auto actual = passes.run({{&chain, 3000, 5, 1, modes[0]}});
    ASSERT_TRUE(actual.ok());
    EXPECT_TRUE(*actual == *expected);
  }
}

}  // namespace
}  // namespace cascade
