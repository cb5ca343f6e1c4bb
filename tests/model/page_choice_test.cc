// The rule of selection: which tokens select, what they may choose, and that a row's choice depends
// on nothing but the row.
#include "model/page_choice.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

#include "tests/model/indexed_chain.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::choosing_config;
using testing::IndexedChain;
using testing::pages_of_bits;

ModelConfig with_windows(std::vector<int> windows) {
  ModelConfig config;
  config.layers = static_cast<int>(windows.size());
  config.window = std::move(windows);
  return config;
}

TEST(PageChoice, recurrent_layers_do_not_select) {
  const AttentionMode mode = {0, 0, 64, 1};
  ModelConfig config = with_windows({0, 0, 0});
  config.recurrent.layers = {false, true, true};
  EXPECT_FALSE(selects_somewhere(mode, 100'000, config, 3));
  config.recurrent.layers = {false, true, false};
  EXPECT_TRUE(selects_somewhere(mode, 100'000, config, 3));
  EXPECT_FALSE(selects_somewhere(mode, 100'000, config, 2));
}

TEST(PageChoice, first_layers_and_layers_with_a_window_do_not_select) {
  const AttentionMode mode = {0, 0, 64, 2};
  EXPECT_EQ(selecting_mode(mode, 0, 0).selected, 0);
  EXPECT_EQ(selecting_mode(mode, 1, 0).selected, 0);
  EXPECT_EQ(selecting_mode(mode, 2, 0).selected, 64);
  EXPECT_EQ(selecting_mode(mode, 2, 500), (AttentionMode{500, 0}));
  const int64_t far = 100'000;
  EXPECT_TRUE(selects_somewhere(mode, far, with_windows({0, 0, 500, 0}), 4));
  EXPECT_FALSE(selects_somewhere(mode, far, with_windows({0, 0, 500, 500}), 4));
  EXPECT_FALSE(selects_somewhere(mode, far, with_windows({0, 0, 0}), 2));
  EXPECT_FALSE(selects_somewhere(mode, 1000, with_windows({0, 0, 0}), 3));
}

class PageChoices : public ::testing::Test {
 protected:
  PageChoice::Row row(int64_t position, const IndexedChain& chain) {
    std::vector<float>& own =
        queries_.emplace_back(testing::kChoosingHeads * testing::kChoosingDim);
    for (float& x : own) x = static_cast<float>(random_.unit() * 4 - 2);
    return {position, own.data(), chain.pages};
  }

  Random random_{testing::test_seed()};
  const ModelConfig config_ = choosing_config();
  const KvLayout layout_ = kv_layout(config_, KvType::kF32);
  PageChoice choice_{config_, **kernels_for(best_isa()), layout_};
  std::deque<std::vector<float>> queries_;
};

TEST_F(PageChoices, hold_the_first_page_the_latest_ones_and_as_many_as_asked_for) {
  const IndexedChain chain(random_, layout_, 90);
  const std::vector<PageChoice::Row> rows = {row(89 * 64 + 5, chain), row(200, chain)};
  choice_.reserve(rows[0].position);
  choice_.choose({0, 0, 320, 0}, 1, 1, rows);
  const std::vector<int> chosen = pages_of_bits(choice_.of_row(0), rows[0].position);
  EXPECT_EQ(chosen.size(), 1u + 5 + 16);
  EXPECT_EQ(chosen.front(), 0);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(chosen[6 + i], 74 + i);
  EXPECT_EQ(choice_.of_row(1), nullptr) << "it sees all of its pages";
}

TEST_F(PageChoices, depend_on_the_row_alone) {
  const IndexedChain a(random_, layout_, 150), b(random_, layout_, 150);
  std::vector<PageChoice::Row> rows;
  for (int i = 0; i < 20; ++i) {
    rows.push_back(row(static_cast<int64_t>(random_.below(150 * 64)), i % 7 < 4 ? a : b));
  }
  const AttentionMode mode = {0, 0, 640, 0};
  std::vector<std::vector<int>> together;
  choice_.reserve(150 * 64);
  choice_.choose(mode, 0, 1, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t* bits = choice_.of_row(i);
    EXPECT_EQ(bits != nullptr, selects(mode, rows[i].position));
    together.push_back(bits == nullptr ? std::vector<int>()
                                       : pages_of_bits(bits, rows[i].position));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    choice_.choose(mode, 0, 1, std::span(rows).subspan(i, 1));
    const uint64_t* bits = choice_.of_row(0);
    EXPECT_EQ(bits == nullptr ? std::vector<int>() : pages_of_bits(bits, rows[i].position),
              together[i]);
  }
}

TEST_F(PageChoices, of_another_head_or_layer_are_others) {
  const IndexedChain chain(random_, layout_, 150);
  const PageChoice::Row one = row(149 * 64, chain);
  choice_.reserve(one.position);
  const auto chosen = [&](int layer, int head) {
    choice_.choose({0, 0, 640, 0}, layer, head, std::span(&one, 1));
    return pages_of_bits(choice_.of_row(0), one.position);
  };
  EXPECT_NE(chosen(0, 0), chosen(0, 1));
  EXPECT_NE(chosen(0, 0), chosen(1, 0));
}

}  // namespace
}  // namespace cascade
