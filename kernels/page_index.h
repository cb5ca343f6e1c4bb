// The index of a page: what the choice of pages (Kernels::choose_pages) knows of the keys of one
// layer and KV head of a page. It is a function of the stored keys alone.
//
// The 64 keys are divided into up to four clusters, and the index holds the mean and the size of
// each. A page is worth reading if one of its clusters is near the query, so that a single key that
// differs from its neighbours is found. The mean and the deviation of all keys of a page (as in
// UNIQUE, arXiv 2605.27740) hide such a key, and so do, less often, the minima and maxima of Quest
// (arXiv 2406.10774): docs/LONG_CONTEXT.md compares them.
//
//   nibbles  u8  [4][d/8][4]   the means, as q + 8: byte j of word w has channel 8w + j (low half)
//                              and channel 8w + 4 + j (high half)
//   scales   f16 [4]           mean = q * scale, q in [-7, 7]
//   counts   u8  [4]           keys of each cluster; 0: there is no such cluster
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/number_types.h"

namespace cascade {

// Four means in four bits take 268 bytes for a head of 128 channels, 1.6 % of int8 keys and values.
// The bits of stored K and V depend on what an index holds: if that changes, the keys of owners
// must, too (Tenants::id()).
inline constexpr int kPageClusters = 4;

// The inline functions of this header are always inlined (see kernels/kv_format.h).
[[gnu::always_inline]] inline constexpr size_t page_index_scales_offset(int head_dim) {
  return static_cast<size_t>(kPageClusters) * head_dim / 2;
}
[[gnu::always_inline]] inline constexpr size_t page_index_counts_offset(int head_dim) {
  return page_index_scales_offset(head_dim) + kPageClusters * sizeof(uint16_t);
}
// The bytes of an index, a multiple of 4.
[[gnu::always_inline]] inline constexpr size_t page_index_bytes(int head_dim) {
  return page_index_counts_offset(head_dim) + kPageClusters;
}

size_t index_page_scratch_floats(int head_dim);

// Writes the index of the 64 keys of `key_block`. Deterministic, the same on every machine:
//  - cluster 0 begins at the mean of all keys; each of the others begins at the key that is
//    farthest from the beginnings so far (the first one if several are), if that is not one of
//    them;
//  - a key belongs to the nearest beginning (the first one if several are);
//  - sums over channels are those of 16 lanes (kernels/kernels.h), sums over keys are ascending.
// `scratch` has index_page_scratch_floats(head_dim). head_dim is a multiple of 8.
void index_page(KvType type, int head_dim, const uint8_t* key_block, float* scratch,
                uint8_t* index);

}  // namespace cascade
