// Which pages a pass indexes.
#include "model/page_indexer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "kernels/page_index.h"
#include "model/packed_file.h"
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
  return {begin, begin + layout.parts[0].page_index_bytes * layout.parts[0].kv_heads};
}

std::vector<std::vector<uint8_t>> indexes_of(const KvLayout& layout, const RandomPages& of,
                                             int layer) {
  std::vector<std::vector<uint8_t>> all;
  for (const uint8_t* page : of.pages) all.push_back(index_of(layout, page, layer));
  return all;
}

// What index_page() makes of `layer` of the page, and the checksums of its blocks.
std::vector<uint8_t> expected_index(const KvLayout& layout, const uint8_t* page, int layer) {
  std::vector<float> scratch(index_page_scratch_floats(kIndexedDim));
  std::vector<uint8_t> expected;
  for (int head = 0; head < layout.parts[0].kv_heads; ++head) {
    std::vector<uint8_t> of_head(layout.parts[0].page_index_bytes);
    const uint8_t* const block = page + layout.key_offset(layer, head);
    index_page(layout.type, kIndexedDim, block, scratch.data(), of_head.data());
    const uint64_t checksum = packed_checksum({block, layout.parts[0].block_bytes()});
    std::memcpy(of_head.data() + of_head.size() - sizeof checksum, &checksum, sizeof checksum);
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
    ASSERT_TRUE(indexer.index(0).ok());
    EXPECT_EQ(indexed_pages, 1) << "a layer is missing";
    const auto after = indexes_of(layout, selecting, 0);
    EXPECT_EQ(indexes_of(layout, selecting, 1), second_before);
    for (int page = 0; page < 20; ++page) {
      const bool is_new = page >= 1 && page < 1219 / 64 - 15;
      EXPECT_EQ(after[page],
                is_new ? expected_index(layout, selecting.pages[page], 0) : before[page])
          << to_string(type) << " page " << page;
    }
    ASSERT_TRUE(indexer.index(1).ok());
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
  for (int layer = 0; layer < layout.part_count(); ++layer) ASSERT_TRUE(indexer.index(layer).ok());
  EXPECT_EQ(first, 3);
  EXPECT_EQ(second, 4);
  for (int layer = 0; layer < layout.part_count(); ++layer) {
    for (int page = 0; page < 4; ++page) {
      EXPECT_EQ(index_of(layout, shared.pages[page], layer),
                expected_index(layout, shared.pages[page], layer));
    }
  }
}

// Gives the parts of pages that are elsewhere in memory.
class PartsOfPages : public KvPartReader {
 public:
  PartsOfPages(const KvLayout& layout, const RandomPages& of) : layout_(layout), of_(of) {}

  Status read(int layer, std::span<const int32_t> pages, uint8_t* to) override {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(to) % 4096, 0u);
    if (++reads == fails_at) return Error{ErrorCode::kIo, "file", "cannot be read"};
    for (const int32_t page : pages) {
      ++parts;
      std::memcpy(to, of_.pages[page] + layout_.parts[0].bytes() * layer, layout_.parts[0].bytes());
      to += layout_.parts[0].stride();
    }
    return {};
  }

  Status read_blocks(int, std::span<const int32_t>, uint8_t*) override {
    return Error{ErrorCode::kInternal, "block", "is not wanted"};
  }

  void waited(int64_t) override { ++waits; }

  int reads = 0, parts = 0, waits = 0, fails_at = 0;

 private:
  const KvLayout layout_;
  const RandomPages& of_;
};

// The indexes of a chain are apart from its pages, of which every second one is absent.
struct HalfAbsent {
  HalfAbsent(Random& random, const KvLayout& layout)
      : pages(random, layout, 20), indexes(random, layout, 20), reader(layout, pages) {
    in_memory = pages.pages;
    for (size_t page = 0; page < in_memory.size(); page += 2) in_memory[page] = nullptr;
  }
  Slice slice() { return {{}, position, in_memory, 0, &reader, kSelecting, &count, indexes.pages}; }

  RandomPages pages, indexes;
  PartsOfPages reader;
  std::vector<uint8_t*> in_memory;
  int64_t position = 5 * kPageTokens + 3;  // of the slice
  int64_t count = 0;
};

TEST(PageIndexer, reads_the_keys_of_absent_pages_once) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    const KvLayout layout = indexed_layout(type);
    for (const size_t parts_at_once : {1, 3, 100}) {
      HalfAbsent chain(random, layout);
      const std::vector<Slice> slices = {chain.slice()};
      const auto next_before = index_of(layout, chain.indexes.pages[5], 0);
      ThreadPool pool(2);
      PageIndexer indexer(layout, pool, parts_at_once * layout.parts[0].stride());
      indexer.begin(std::vector<SliceRow>{{0, chain.position, true}}, slices);
      EXPECT_TRUE(indexer.reads());
      for (int layer = 0; layer < layout.part_count(); ++layer) {
        ASSERT_TRUE(indexer.index(layer).ok());
        for (int page = 0; page < 5; ++page) {
          EXPECT_EQ(index_of(layout, chain.indexes.pages[page], layer),
                    expected_index(layout, chain.pages.pages[page], layer))
              << to_string(type) << " page " << page << " layer " << layer;
        }
      }
      EXPECT_EQ(chain.count, 5);
      EXPECT_EQ(chain.reader.parts, 3 * layout.part_count());
      EXPECT_EQ(chain.reader.waits, chain.reader.reads) << "nothing is computed meanwhile";
      EXPECT_EQ(index_of(layout, chain.indexes.pages[5], 0), next_before) << "the slice's own page";
    }
  }
}

TEST(PageIndexer, that_cannot_read_counts_nothing_and_can_begin_again) {
  Random random(testing::test_seed());
  const KvLayout layout = indexed_layout(KvType::kInt8);
  ThreadPool pool(2);
  PageIndexer indexer(layout, pool, 1);
  for (int failing = 1; failing <= 3 * layout.part_count(); ++failing) {
    HalfAbsent chain(random, layout);
    const std::vector<Slice> slices = {chain.slice()};
    const std::vector<SliceRow> rows = {{0, chain.position, true}};
    chain.reader.fails_at = failing;
    indexer.begin(rows, slices);
    Status indexed;
    for (int layer = 0; layer < layout.part_count() && indexed.ok(); ++layer) {
      indexed = indexer.index(layer);
    }
    ASSERT_FALSE(indexed.ok()) << failing;
    EXPECT_EQ(indexed.error().message, "cannot be read");
    EXPECT_EQ(chain.count, 0);
    indexer.begin(rows, slices);
    for (int layer = 0; layer < layout.part_count(); ++layer)
      ASSERT_TRUE(indexer.index(layer).ok());
    EXPECT_EQ(chain.count, 5);
    EXPECT_EQ(index_of(layout, chain.indexes.pages[2], 1),
              expected_index(layout, chain.pages.pages[2], 1));
  }
}

}  // namespace
}  // namespace cascade
