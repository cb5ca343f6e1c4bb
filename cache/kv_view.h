// The places of a chain's K and V: the layout of a page, and a view of the pages of one sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/number_types.h"

namespace cascade {

// The number of tokens in one page. A page is a tile of the attention kernels: absolute position =
// page index in the chain * 64 + slot.
inline constexpr int kPageTokens = 64;

// A part of a page: K and V of its 64 tokens that one layer computes, and that it and perhaps later
// layers attend to. Head by head, a block of keys and a block of values. The kernels define what is
// inside a block (kernels/kv_format.h).
struct KvPartLayout {
  int kv_heads = 0;
  int head_dim = 0;
  size_t key_block_bytes = 0;  // multiples of 16
  size_t value_block_bytes = 0;
  // The bytes of the index of one head (kernels/page_index.h), and of the checksum of K and V,
  // which follows it.
  size_t page_index_bytes = 0;
  // Set by KvLayout::append(): where the part begins in a page, and its indexes among the indexes.
  size_t begin = 0;
  size_t indexes_begin = 0;

  // A block is K and V of one head.
  size_t block_bytes() const { return key_block_bytes + value_block_bytes; }
  size_t bytes() const { return static_cast<size_t>(kv_heads) * block_bytes(); }
  size_t indexes_bytes() const { return static_cast<size_t>(kv_heads) * page_index_bytes; }
  // From one part to the next where parts lie alone, in buffers and files: a multiple of 4,096
  // bytes, as files that are read without the system's cache need it.
  size_t stride() const { return (bytes() + 4095) / 4096 * 4096; }
  // A block is read alone in whole units of 4,096 bytes, which are at most block_stride() bytes. It
  // begins block_shift() bytes after the first of these.
  size_t block_shift(int head) const { return head * block_bytes() % 4096; }
  size_t block_stride() const { return (block_bytes() + 4095 + 4095) / 4096 * 4096; }
  // Whether all bytes of a full block are K and V. Otherwise V is padded to 16 channels with any
  // bytes: two copies of a block may differ in the padding, and so in their checksums.
  bool has_exact_blocks() const { return head_dim % 16 == 0; }
};

// A page holds its parts one after the other, in the order of the layers that compute them.
struct KvLayout {
  KvType type = KvType::kBf16;
  std::vector<KvPartLayout> parts;

  int part_count() const { return static_cast<int>(parts.size()); }
  // Adds a part after the others.
  void append(KvPartLayout part) {
    part.begin = page_bytes();
    part.indexes_begin = indexes_bytes();
    parts.push_back(part);
  }
  size_t page_bytes() const {
    return parts.empty() ? 0 : parts.back().begin + parts.back().bytes();
  }
  // The bytes of each part.
  std::vector<uint32_t> part_sizes() const {
    std::vector<uint32_t> sizes;
    for (const KvPartLayout& part : parts) sizes.push_back(static_cast<uint32_t>(part.bytes()));
    return sizes;
  }
  // The offset of the keys of `head` in `part`; the values follow them.
  size_t key_offset(int part, int head) const {
    return parts[part].begin + head * parts[part].block_bytes();
  }
  size_t value_offset(int part, int head) const {
    return key_offset(part, head) + parts[part].key_block_bytes;
  }
  // The index of `head` in `part`, which follows K and V in pages that have room for it.
  size_t index_offset(int part, int head) const {
    return page_bytes() + parts[part].indexes_begin + head * parts[part].page_index_bytes;
  }
  // Where the checksum of K and V of `head` in `part` is.
  size_t block_checksum_offset(int part, int head) const {
    return index_offset(part, head) + parts[part].page_index_bytes - sizeof(uint64_t);
  }
  // The bytes of a page's indexes, of all parts and heads.
  size_t indexes_bytes() const {
    return parts.empty() ? 0 : parts.back().indexes_begin + parts.back().indexes_bytes();
  }
  // What a page takes in memory, with its index: a multiple of the system's pages, on which the
  // pages of an arena begin.
  size_t indexed_page_bytes() const {
    return (page_bytes() + indexes_bytes() + 4095) / 4096 * 4096;
  }
  // The number of pages whose indexes fit the memory of one page.
  int64_t indexes_in_page() const {
    return static_cast<int64_t>(indexed_page_bytes() / indexes_bytes());
  }
};

// The pages of one sequence, in chain order. Does not own them.
using KvPages = std::span<uint8_t* const>;

}  // namespace cascade
