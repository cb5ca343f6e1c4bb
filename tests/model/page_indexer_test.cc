// Which pages a pass indexes.
#include "model/page_indexer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "kernels/page_index.h"
#include "model/transformer.h"
#include "tests/seed.h"

namespace cascade {
namespace {

constexpr int kIndexedDim = 24;

KvLayout indexed_layout(KvType type) {
  ModelConfig config;
  config.layers = 2;
  config.kv_heads = 3;
  config.head_dim = kIndexedDim;
  return kv_layout(config, type);
}

// Pages of random bytes, whose scales are numbers.
struct RandomPages {
  RandomPages(Random& random, const KvLayout& layout, int count) {
    for (int page = 0; page < count; ++page) {
      memory.push_back(allocate_aligned(layout.indexed_page_bytes()));
      pages.push_back(memory.back().get());
      for (size_t i = 0; i < layout.indexed_page_bytes(); ++i) {
        pages.back()[i] = static_cast<uint8_t>(random.below(60));
      }
    }
  }

  std::vector<AlignedBytes> memory;
  std::vector<uint8_t*> pages;
};

std::vector<uint8_t> index_of(const KvLayout& layout, const uint8_t* page, int layer) {
  const uint8_t* begin = page + layout.index_offset(layer, 0);
  return {begin, begin + layout.page_index_bytes * layout.kv_heads};
}

std::vector<std::vector<uint8_t>> indexes_of(const KvLayout& layout, const RandomPages& of,
                                             int layer) {
  std::vector<std::vector<uint8_t>> all;
  for (const uint8_t* page : of.pages) all.push_back(index_of(layout, page, layer));
  return all;
}

// What index_page() makes of `layer` of the page.
std::vector<uint8_t> expected_index(const KvLayout& layout, const uint8_t* page, int layer) {
  std::vector<float> scratch(index_page_scratch_floats(kIndexedDim));
  std::vector<uint8_t> expected;
  for (int head = 0; head < layout.kv_heads; ++head) {
    std::vector<uint8_t> of_head(layout.page_index_bytes);
    index_page(layout.type, kIndexedDim, page + layout.key_offset(layer, head), scratch.data(),
               of_head.data());
    expected.insert(expected.end(), of_head.begin(), of_head.end());
  }
  return expected;
}

constexpr AttentionMode kSelecting = {0, 0, 64, 0};

TEST(PageIndexer, indexes_the_pages_that_the_last_row_may_choose_layer_by_layer) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    const KvLayout layout = indexed_layout(type);
    const RandomPages selecting(random, layout, 20), dense(random, layout, 20);
    int64_t indexed_pages = 1;
    const std::vector<Slice> slices = {
        {{}, 1150, selecting.pages, 0, nullptr, kSelecting, &indexed_pages},
        {{}, 1150, dense.pages}};
    std::vector<SliceRow> rows;
    for (const int slice : {0, 1}) {
      for (int64_t position = 1150; position < 1220; ++position) {
        rows.push_back({slice, position, false});
      }
    }
    const auto before = indexes_of(layout, selecting, 0);
    const auto second_before = indexes_of(layout, selecting, 1);
    const auto dense_before = indexes_of(layout, dense, 0);
    ThreadPool pool(2);
    PageIndexer indexer(layout, pool);
    indexer.begin(rows, slices);
    indexer.index(0);
    EXPECT_EQ(indexed_pages, 1) << "a layer is missing";
    const auto after = indexes_of(layout, selecting, 0);
    EXPECT_EQ(indexes_of(layout, selecting, 1), second_before);
    for (int page = 0; page < 20; ++page) {
      const bool is_new = page >= 1 && page < 1219 / 64 - 15;
      EXPECT_EQ(after[page],
                is_new ? expected_index(layout, selecting.pages[page], 0) : before[page])
          << to_string(type) << " page " << page;
    }
    indexer.index(1);
    EXPECT_EQ(indexed_pages, 1219 / 64 - 15);
    EXPECT_EQ(indexes_of(layout, dense, 0), dense_before);
  }
}

TEST(PageIndexer, sequences_that_share_pages_index_them_together) {
  Random random(testing::test_seed());
  const KvLayout layout = indexed_layout(KvType::kInt8);
  const RandomPages shared(random, layout, 20);
  int64_t first = 0, second = 2;
  const std::vector<Slice> slices = {{{}, 1200, shared.pages, 0, nullptr, {}, &first},
                                     {{}, 1279, shared.pages, 0, nullptr, kSelecting, &second}};
  const std::vector<SliceRow> rows = {{0, 1200, true}, {1, 1279, true}};
  ThreadPool pool(2);
  PageIndexer indexer(layout, pool);
  indexer.begin(rows, slices);
  for (int layer = 0; layer < layout.layers; ++layer) indexer.index(layer);
  EXPECT_EQ(first, 3);
  EXPECT_EQ(second, 4);
  for (int layer = 0; layer < layout.layers; ++layer) {
    for (int page = 0; page < 4; ++page) {
      EXPECT_EQ(index_of(layout, shared.pages[page], layer),
                expected_index(layout, shared.pages[page], layer));
    }
  }
}

}  // namespace
}  // namespace cascade
