// Tests of a sequence of which a part lies in a file.
#include "bench/spilled_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "model/read_buffer.h"
#include "tests/temporary_folder.h"

namespace cascade::bench {
namespace {

constexpr int64_t kSliceTokens = 128;  // three pages at once

KvLayout small_layout() {
  KvLayout layout;
  layout.type = KvType::kInt8;
  for (int part = 0; part < 3; ++part) {
    layout.append({.kv_heads = 2,
                   .head_dim = 64,
                   .key_block_bytes = 4224,
                   .value_block_bytes = 4224,
                   .page_index_bytes = 140});
  }
  return layout;
}

uint8_t pattern(int64_t page, size_t at) {
  return static_cast<uint8_t>(page * 31 + static_cast<int64_t>(at / 7));
}

std::unique_ptr<SpilledChain> chain_of(int64_t pages, int64_t slots, const std::string& folder) {
  const KvLayout layout = small_layout();
  auto chain =
      SpilledChain::create(layout, pages, slots * layout.page_bytes(), kSliceTokens, folder);
  EXPECT_TRUE(chain.ok());
  return *std::move(chain);
}

void write(SpilledChain& chain, int64_t page) {
  for (size_t at = 0; at < small_layout().page_bytes(); ++at) {
    chain.pages()[page][at] = pattern(page, at);
  }
}

// Writes all pages, a slice of two at a time.
void write_all(SpilledChain& chain, int64_t pages) {
  for (int64_t page = 0; page < pages; page += 2) {
    ASSERT_TRUE(chain.bring(page * kPageTokens, (page + 2) * kPageTokens).ok());
    write(chain, page);
    write(chain, page + 1);
  }
}

TEST(SpilledChain, keeps_the_first_pages_and_the_latest_in_memory_and_reads_the_others) {
  const testing::TemporaryFolder folder;
  const auto chain = chain_of(20, 7, folder.path());
  write_all(*chain, 20);
  std::vector<int32_t> absent;
  for (int32_t page = 0; page < 20; ++page) {
    if (chain->pages()[page] == nullptr) absent.push_back(page);
  }
  EXPECT_EQ(absent, (std::vector<int32_t>{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  const KvLayout layout = small_layout();
  const ReadBuffer memory(absent.size() * layout.parts[0].stride());
  uint8_t* const to = memory.data();
  for (int layer = 0; layer < layout.part_count(); ++layer) {
    ASSERT_TRUE(chain->read(layer, absent, to).ok());
    for (size_t i = 0; i < absent.size(); ++i) {
      for (size_t at = 0; at < layout.parts[0].bytes(); ++at) {
        ASSERT_EQ(to[i * layout.parts[0].stride() + at],
                  pattern(absent[i], layer * layout.parts[0].bytes() + at));
      }
    }
  }
  EXPECT_EQ(chain->bytes_read(), absent.size() * layout.parts[0].stride() * layout.part_count());
}

TEST(SpilledChain, brings_a_page_back_that_is_written_to_in_the_middle) {
  const testing::TemporaryFolder folder;
  const auto chain = chain_of(20, 7, folder.path());
  write_all(*chain, 20);
  ASSERT_TRUE(chain->bring(10 * kPageTokens + 5, 10 * kPageTokens + 6).ok());
  const KvPages pages = chain->pages();
  ASSERT_NE(pages[10], nullptr);
  for (size_t at = 0; at < small_layout().page_bytes(); ++at) {
    ASSERT_EQ(pages[10][at], pattern(10, at)) << at;
  }
  // The file receives what is written now.
  pages[10][0] ^= 1;
  for (int64_t page = 12; page < 16; ++page) {
    ASSERT_TRUE(chain->bring(page * kPageTokens, page * kPageTokens + 1).ok());
  }
  EXPECT_EQ(chain->pages()[10], nullptr);
  ASSERT_TRUE(chain->bring(10 * kPageTokens + 6, 10 * kPageTokens + 7).ok());
  EXPECT_EQ(chain->pages()[10][0], pattern(10, 0) ^ 1);
}

TEST(SpilledChain, has_the_indexes_of_all_pages_in_its_memory_if_tokens_select) {
  const testing::TemporaryFolder folder;
  const KvLayout layout = small_layout();
  EXPECT_TRUE(chain_of(20, 7, folder.path())->indexes().empty());
  const uint64_t memory = 5 * layout.page_bytes() + 20 * layout.indexes_bytes();
  const auto create = [&](uint64_t bytes) {
    return SpilledChain::create(layout, 20, bytes, kSliceTokens, folder.path(), true);
  };
  const auto chain = create(memory);
  ASSERT_TRUE(chain.ok());
  write_all(**chain, 20);
  EXPECT_EQ(std::ranges::count((*chain)->pages(), nullptr), 20 - 5);
  const KvPages indexes = (*chain)->indexes();
  ASSERT_EQ(indexes.size(), 20u);
  for (size_t page = 1; page < indexes.size(); ++page) {
    EXPECT_GE(indexes[page] - indexes[page - 1], std::ptrdiff_t(layout.indexes_bytes()));
  }
  std::memset(indexes[0] + layout.index_offset(0, 0), 1, layout.indexes_bytes());
  std::memset(indexes[19] + layout.index_offset(0, 0), 1, layout.indexes_bytes());
  const auto small = create(memory - 2 * layout.page_bytes() - 1);
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.error().message.find("may be in and the indexes of the context, got"),
            std::string::npos)
      << small.error().message;
}

TEST(SpilledChain, needs_memory_for_a_slice_and_a_folder) {
  const testing::TemporaryFolder folder;
  const KvLayout layout = small_layout();
  const auto small =
      SpilledChain::create(layout, 20, 3 * layout.page_bytes() - 1, kSliceTokens, folder.path());
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().field, "--kv-memory");
  EXPECT_EQ(small.error().message, "must be at least " + std::to_string(3 * layout.page_bytes()) +
                                       " bytes, the 3 pages that 128 tokens may be in, got " +
                                       std::to_string(3 * layout.page_bytes() - 1));
  const std::string nowhere = folder.path() / "nowhere";
  const auto lost =
      SpilledChain::create(layout, 20, 3 * layout.page_bytes(), kSliceTokens, nowhere);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().field, "--spill-dir");
  EXPECT_NE(lost.error().message.find(nowhere), std::string::npos);
}

}  // namespace
}  // namespace cascade::bench
