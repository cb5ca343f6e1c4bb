// What the rows of a slice choose together is what each of them chooses alone.
#include "model/slice_choice.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/model/indexed_chain.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::kChoosingDim;
using testing::kChoosingHeads;

class SliceChoices : public ::testing::Test {
 protected:
  SliceChoices() {
    for (int thread = 0; thread < pool_.threads(); ++thread) {
      choices_.emplace_back(config_, **kernels_for(best_isa()), layout_);
      choices_.back().reserve(200 * kPageTokens);
    }
  }
  // `count` rows from `position` on, with random queries.
  std::vector<SliceChoice::Row> rows_from(int64_t position, int count) {
    const size_t width = size_t{kChoosingDim} * kChoosingHeads * config_.kv_heads;
    queries_.resize(count * width);
    for (float& x : queries_) x = static_cast<float>(random_.unit() * 4 - 2);
    std::vector<SliceChoice::Row> rows;
    for (int i = 0; i < count; ++i) rows.push_back({position + i, queries_.data() + i * width});
    return rows;
  }
  void choose(const AttentionMode& mode, const testing::IndexedChain& chain,
              std::span<const SliceChoice::Row> rows) {
    choice_.choose(mode, 1, config_.attention_shape(1), kChoosingHeads, chain.pages, rows, pool_,
                   choices_);
  }

  Random random_{testing::test_seed()};
  const ModelConfig config_ = testing::choosing_config();
  const KvLayout layout_ = kv_layout(config_, KvType::kF32);
  ThreadPool pool_{3};
  std::vector<PageChoice> choices_;
  std::vector<float> queries_;
  SliceChoice choice_;
};

TEST_F(SliceChoices, are_those_of_each_row_alone_and_what_is_seen_is_all_of_them) {
  const testing::IndexedChain chain(random_, layout_, 150);
  const AttentionMode mode = {0, 0, 128, 0};
  const std::vector<SliceChoice::Row> rows = rows_from(120 * kPageTokens - 30, 70);
  choose(mode, chain, rows);
  std::set<int> seen, seen_blocks;
  PageChoice alone(config_, **kernels_for(best_isa()), layout_);
  alone.reserve(200 * kPageTokens);
  for (int head = 0; head < config_.kv_heads; ++head) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const PageChoice::Row row = {rows[i].position,
                                   rows[i].queries + size_t(head) * kChoosingHeads * kChoosingDim,
                                   chain.pages};
      alone.choose(mode, 1, head, std::span(&row, 1));
      const std::vector<int> expected = testing::pages_of_bits(alone.of_row(0), row.position);
      EXPECT_EQ(testing::pages_of_bits(choice_.of(head, i), row.position), expected);
      seen.insert(expected.begin(), expected.end());
      for (const int page : expected) seen_blocks.insert(page * config_.kv_heads + head);
    }
  }
  std::vector<int32_t> asked;
  for (int32_t page = 0; page <= 120; ++page) asked.push_back(page);
  EXPECT_EQ(choice_.seen(asked), std::vector<int32_t>(seen.begin(), seen.end()));
  EXPECT_EQ(choice_.seen_blocks(asked),
            std::vector<int32_t>(seen_blocks.begin(), seen_blocks.end()));
  asked = {5, 40};
  for (const int32_t page : choice_.seen(asked)) EXPECT_TRUE(page == 5 || page == 40);
}

TEST_F(SliceChoices, of_rows_before_the_first_that_selects_are_all_pages) {
  const testing::IndexedChain chain(random_, layout_, 40);
  const AttentionMode mode = {0, 0, 64, 0};
  const int64_t first = 18 * kPageTokens;
  const std::vector<SliceChoice::Row> rows = rows_from(first - 1, 2);
  choose(mode, chain, rows);
  for (int head = 0; head < config_.kv_heads; ++head) {
    EXPECT_EQ(choice_.of(head, 0), nullptr);
    EXPECT_NE(choice_.of(head, 1), nullptr);
  }
  const std::vector<int32_t> asked = {0, 1, 2, 17, 18};
  EXPECT_EQ(choice_.seen(asked), asked) << "the last one is the second row's own page";
  choose(mode, chain, std::span(rows).first(1));
  EXPECT_EQ(choice_.seen(asked), (std::vector<int32_t>{0, 1, 2, 17}));
  EXPECT_EQ(choice_.seen_blocks(asked), (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 34, 35}));
}

TEST_F(SliceChoices, do_not_remember_an_earlier_call) {
  const testing::IndexedChain chain(random_, layout_, 150);
  const AttentionMode mode = {0, 0, 64, 0};
  choose({}, chain, rows_from(140 * kPageTokens, 40));
  const std::vector<SliceChoice::Row> rows = rows_from(70 * kPageTokens, 1);
  choose(mode, chain, rows);
  std::vector<int32_t> asked;
  for (int32_t page = 0; page <= 70; ++page) asked.push_back(page);
  EXPECT_LE(choice_.seen(asked).size(), size_t{1} + 16 + 2);
}

}  // namespace
}  // namespace cascade
