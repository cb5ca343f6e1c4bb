// Checks each number of the page before it is used.
#include "persist/btree_page.h"

#include <algorithm>
#include <cstddef>

namespace cascade {
namespace {

constexpr size_t kDatabaseHeaderBytes = 100;  // at the beginning of the first page
constexpr size_t kFreeblockHeaderBytes = 4;   // the next block's place, this block's size

// Numbers have two bytes, the higher one first.
size_t number_at(std::span<const uint8_t> page, size_t at) {
  return static_cast<size_t>(page[at]) << 8 | page[at + 1];
}

// The size of the header of a b-tree page that begins with this byte; 0 if it is not a b-tree page.
// Other pages begin with the number of a page, whose first byte is 0 in databases below 64 GiB.
size_t header_bytes(uint8_t kind) {
  switch (kind) {
    case 2:  // interior, of an index
    case 5:  // interior, of a table
      return 12;
    case 10:  // leaf, of an index
    case 13:  // leaf, of a table
      return 8;
    default: return 0;
  }
}

void clear(std::span<uint8_t> bytes) {
  std::ranges::fill(bytes, uint8_t{0});
}

}  // namespace

void clear_unused(std::span<uint8_t> page, uint64_t number) {
  const size_t begin = number == 1 ? kDatabaseHeaderBytes : 0;
  if (page.size() < begin + 12) return;
  const size_t header = header_bytes(page[begin]);
  if (header == 0) return;
  const size_t pointers_end = begin + header + 2 * number_at(page, begin + 3);
  const size_t cells = number_at(page, begin + 5);
  if (cells < pointers_end || cells > page.size()) return;
  clear(page.subspan(pointers_end, cells - pointers_end));
  // Freeblocks are in ascending order, within the part that has the cells.
  size_t after = cells;
  for (size_t at = number_at(page, begin + 1); at != 0;) {
    if (at < after || at + kFreeblockHeaderBytes > page.size()) return;
    const size_t size = number_at(page, at + 2);
    if (size < kFreeblockHeaderBytes || at + size > page.size()) return;
    clear(page.subspan(at + kFreeblockHeaderBytes, size - kFreeblockHeaderBytes));
    after = at + size;
    at = number_at(page, at);
  }
}

}  // namespace cascade
