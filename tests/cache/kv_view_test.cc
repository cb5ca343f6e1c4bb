// Where the parts of a page, and the indexes after them, lie.
#include "cache/kv_view.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace cascade {
namespace {

// A part of two heads between two of one head.
KvLayout unequal_layout() {
  KvLayout layout;
  for (const int heads : {1, 2, 1}) {
    const size_t key_bytes = heads == 2 ? 128 : 6000;
    layout.append({.kv_heads = heads,
                   .head_dim = heads == 2 ? 16 : 20,
                   .key_block_bytes = key_bytes,
                   .value_block_bytes = key_bytes + 64,
                   .page_index_bytes = heads == 2 ? size_t{40} : size_t{24}});
  }
  return layout;
}

TEST(KvLayout, parts_lie_one_after_the_other_and_then_the_indexes) {
  const KvLayout layout = unequal_layout();
  std::vector<std::pair<size_t, size_t>> places;  // begin, size
  for (int part = 0; part < layout.part_count(); ++part) {
    const KvPartLayout& of = layout.parts[size_t(part)];
    for (int head = 0; head < of.kv_heads; ++head) {
      places.emplace_back(layout.key_offset(part, head), of.key_block_bytes);
      places.emplace_back(layout.value_offset(part, head), of.value_block_bytes);
    }
  }
  for (int part = 0; part < layout.part_count(); ++part) {
    const KvPartLayout& of = layout.parts[size_t(part)];
    for (int head = 0; head < of.kv_heads; ++head) {
      const size_t begin = layout.index_offset(part, head);
      places.emplace_back(begin, of.page_index_bytes - 8);
      EXPECT_EQ(layout.block_checksum_offset(part, head), begin + of.page_index_bytes - 8);
      places.emplace_back(layout.block_checksum_offset(part, head), 8);
    }
  }
  size_t end = 0;
  for (const auto& [begin, size] : places) {
    EXPECT_EQ(begin, end);
    end = begin + size;
  }
  EXPECT_EQ(end, layout.page_bytes() + layout.indexes_bytes());
  EXPECT_EQ(layout.page_bytes(), 2 * (6000 + 6064) + 2 * (128 + 192));
  EXPECT_EQ(layout.indexes_bytes(), 2 * 24 + 2 * 40);
  EXPECT_EQ(layout.indexed_page_bytes(), 28'672);
  EXPECT_EQ(layout.part_sizes(), (std::vector<uint32_t>{12'064, 640, 12'064}));
}

TEST(KvLayout, a_part_alone_takes_whole_units_of_a_disk) {
  const KvLayout layout = unequal_layout();
  EXPECT_EQ(layout.parts[0].stride(), 12'288);
  EXPECT_EQ(layout.parts[1].stride(), 4096);
  EXPECT_EQ(layout.parts[1].block_shift(1), 320);
  EXPECT_EQ(layout.parts[1].block_stride(), 8192) << "a block may lie across two units";
  EXPECT_FALSE(layout.parts[0].has_exact_blocks());
  EXPECT_TRUE(layout.parts[1].has_exact_blocks());
}

TEST(KvLayout, without_parts_is_empty) {
  EXPECT_EQ(KvLayout().page_bytes(), 0u);
  EXPECT_EQ(KvLayout().indexes_bytes(), 0u);
  EXPECT_TRUE(KvLayout().part_sizes().empty());
}

}  // namespace
}  // namespace cascade
