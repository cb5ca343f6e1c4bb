// Pages in parts, equal and unequal ones, and reading the parts one by one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "persist/kv_part_files.h"
#include "persist/kv_store.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade::testing {

inline const std::string kPartsFolder = "/state/kv";
inline const std::string kPartsFile = "/state/kv/00000001.kv";

using Sizes = std::vector<uint32_t>;

inline const Sizes kWhole = {kPageBytes};
inline const Sizes kTwoParts = equal_parts(kPageBytes, 2);
// Some take several blocks, and one of them takes whole blocks.
inline const Sizes kUnequalParts = {1000, 4096, 1000, 4904, 9000};
inline constexpr uint64_t kUnequalPageBytes = 20'000;

inline PageRun run_in_parts(const TestChain& chain, const Sizes& parts) {
  PageRun run = chain.run();
  run.parts = parts;
  return run;
}

// Memory for a part as KvPartFiles wants it.
class PartMemory {
 public:
  PartMemory() : memory_(static_cast<uint8_t*>(std::aligned_alloc(4096, 20480))) {}
  ~PartMemory() { std::free(memory_); }
  PartMemory(const PartMemory&) = delete;
  PartMemory& operator=(const PartMemory&) = delete;
  uint8_t* data() { return memory_; }

 private:
  uint8_t* memory_;
};

// Reads one part.
inline Status read_part(KvPartFiles& files, uint32_t lease, size_t part, uint8_t* to) {
  const PartRead read = {lease, to};
  const auto unread = files.read(part, {&read, 1});
  return unread ? Status(unread->error) : Status();
}

// The bytes of part `part` of a page of the chain, which has parts of these sizes.
inline std::span<const uint8_t> part_of(const TestChain& chain, const Sizes& parts, size_t page,
                                        size_t part) {
  const auto begin =
      std::accumulate(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(part), size_t{0});
  return std::span(chain.pages[page]).subspan(begin, parts[part]);
}

inline bool has_part(PartMemory& memory, const TestChain& chain, size_t page, size_t part,
                     const Sizes& parts = kTwoParts) {
  const auto wanted = part_of(chain, parts, page, part);
  return std::ranges::equal(wanted, std::span(memory.data(), wanted.size()));
}

// Reads all pages of the chain at once.
inline void expect_read(KvStore& kv, const TestChain& chain, const Sizes& parts) {
  std::vector<std::vector<uint8_t>> to(chain.keys.size(), std::vector<uint8_t>(chain.page_bytes));
  std::vector<PageRead> reads;
  for (size_t i = 0; i < to.size(); ++i) {
    reads.push_back({chain.keys[i], chain.token_ids[i], to[i].data()});
  }
  const PagesRead read = kv.read(chain.page_bytes, reads, parts);
  EXPECT_EQ(read.good, to.size()) << (read.error ? read.error->to_string() : "");
  EXPECT_EQ(to, chain.pages);
}

// Leases the page and reads its parts one by one; no sizes: it is one part.
inline void expect_parts(MemoryDisk& disk, KvStore& kv, const TestChain& chain, size_t page,
                         const Sizes& parts) {
  const auto lease = kv.lease(chain.keys[page], chain.page_bytes, parts);
  ASSERT_TRUE(ok(lease));
  const auto leased = kv.leases().find(*lease);
  const Sizes sizes = parts.empty() ? equal_parts(chain.page_bytes, 1) : parts;
  ASSERT_EQ(leased->parts.size(), sizes.size());
  KvPartFiles files(disk, kPartsFolder, kv.leases(), 1);
  PartMemory memory;
  for (size_t part = 0; part < sizes.size(); ++part) {
    EXPECT_EQ(leased->parts[part].full_bytes, sizes[part]);
    ASSERT_TRUE(ok(read_part(files, *lease, part, memory.data())));
    EXPECT_TRUE(has_part(memory, chain, page, part, sizes)) << page << " " << part;
  }
}

// Bytes [begin, begin + bytes) of part `part` of a page.
inline Status read_range(KvPartFiles& files, const RangeRead& range, size_t part = 0) {
  const auto unread = files.read(part, {&range, 1});
  return unread ? Status(unread->error) : Status();
}

}  // namespace cascade::testing
