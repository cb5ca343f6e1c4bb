// The places of a chain's K and V: the layout of a page, and a view of the pages of one sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/number_types.h"

namespace cascade {

// The number of tokens in one page. A page is a tile of the attention kernels: absolute position =
// page index in the chain * 64 + slot.
inline constexpr int kPageTokens = 64;

// A page holds, layer by layer and KV head by KV head, a block of keys and a block of values of its
// 64 tokens. The kernels define what is inside a block (kernels/kv_format.h).
struct KvLayout {
  KvType type = KvType::kBf16;
  int layers = 0;
  int kv_heads = 0;
  int head_dim = 0;
  size_t key_block_bytes = 0;  // multiples of 16
  size_t value_block_bytes = 0;
  // The bytes of an index of one layer and head (kernels/page_index.h), and of the checksum of K
  // and V, which follows it.
  size_t page_index_bytes = 0;

  size_t page_bytes() const {
    return static_cast<size_t>(layers) * kv_heads * (key_block_bytes + value_block_bytes);
  }
  // The bytes of one layer of a page, which are contiguous.
  size_t part_bytes() const { return kv_heads * (key_block_bytes + value_block_bytes); }
  // From one part to the next where parts lie alone, in buffers and files: a multiple of 4,096
  // bytes, as files that are read without the system's cache need it.
  size_t part_stride() const { return (part_bytes() + 4095) / 4096 * 4096; }
  // A block is K and V of one head in a part. It is read alone in whole units of 4,096 bytes, which
  // are at most block_stride() bytes. It begins block_shift() bytes after the first of these.
  size_t block_bytes() const { return key_block_bytes + value_block_bytes; }
  size_t block_shift(int head) const { return head * block_bytes() % 4096; }
  size_t block_stride() const { return (block_bytes() + 4095 + 4095) / 4096 * 4096; }
  // Whether all bytes of a full block are K and V. Otherwise V is padded to 16 channels with any
  // bytes: two copies of a block may differ in the padding, and so in their checksums.
  bool has_exact_blocks() const { return head_dim % 16 == 0; }
  // The offset of the keys of `head` in `layer`; the values follow them.
  size_t key_offset(int layer, int head) const {
    return (static_cast<size_t>(layer) * kv_heads + head) * (key_block_bytes + value_block_bytes);
  }
  size_t value_offset(int layer, int head) const {
    return key_offset(layer, head) + key_block_bytes;
  }
  // The index of `head` in `layer`, which follows K and V in pages that have room for it.
  size_t index_offset(int layer, int head) const {
    return page_bytes() + (static_cast<size_t>(layer) * kv_heads + head) * page_index_bytes;
  }
  // Where the checksum of K and V of `head` in `layer` is.
  size_t block_checksum_offset(int layer, int head) const {
    return index_offset(layer, head) + page_index_bytes - sizeof(uint64_t);
  }
  // The bytes of a page's indexes, of all layers and heads.
  size_t indexes_bytes() const { return index_offset(layers, 0) - page_bytes(); }
  // What a page takes in memory, with its index: a multiple of the system's pages, on which the
  // pages of an arena begin.
  size_t indexed_page_bytes() const { return (index_offset(layers, 0) + 4095) / 4096 * 4096; }
  // The number of pages whose indexes fit the memory of one page.
  int64_t indexes_in_page() const {
    return static_cast<int64_t>(indexed_page_bytes() / indexes_bytes());
  }
};

// The pages of one sequence, in chain order. Does not own them.
using KvPages = std::span<uint8_t* const>;

}  // namespace cascade
