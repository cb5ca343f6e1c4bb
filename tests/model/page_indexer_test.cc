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

TEST(PageIndexer, indexes_full_pages_of_sequences_that_select_layer_by_layer) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    const KvLayout layout = indexed_layout(type);
    const RandomPages selecting(random, layout, 3), dense(random, layout, 3);
    const std::vector<Slice> slices = {{{}, 60, selecting.pages, 0, nullptr, {0, 0, 64, 0}},
                                       {{}, 60, dense.pages}};
    std::vector<SliceRow> rows;
    for (const int slice : {0, 1}) {
      for (int64_t position = 60; position < 140; ++position) {
        rows.push_back({slice, position, false});
      }
    }
    const auto indexes = [&](const RandomPages& of, int layer) {
      std::vector<std::vector<uint8_t>> all;
      for (const uint8_t* page : of.pages) all.push_back(index_of(layout, page, layer));
      return all;
    };
    const auto before = indexes(selecting, 0), second_before = indexes(selecting, 1);
    const auto dense_before = indexes(dense, 0);
    ThreadPool pool(2);
    PageIndexer indexer(layout, pool);
    indexer.begin(rows, slices);
    indexer.index(0);
    const auto after = indexes(selecting, 0);
    EXPECT_EQ(indexes(selecting, 1), second_before);
    EXPECT_EQ(indexes(dense, 0), dense_before);
    EXPECT_EQ(after[2], before[2]) << "the page is not full";
    std::vector<float> scratch(index_page_scratch_floats(kIndexedDim));
    for (const int page : {0, 1}) {
      std::vector<uint8_t> expected;
      for (int head = 0; head < layout.kv_heads; ++head) {
        std::vector<uint8_t> of_head(layout.page_index_bytes);
        index_page(type, kIndexedDim, selecting.pages[page] + layout.key_offset(0, head),
                   scratch.data(), of_head.data());
        expected.insert(expected.end(), of_head.begin(), of_head.end());
      }
      EXPECT_EQ(after[page], expected) << to_string(type) << " page " << page;
    }
  }
}

}  // namespace
}  // namespace cascade
