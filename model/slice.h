// What a forward pass computes: consecutive tokens of sequences, and where their K and V are.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "cache/kv_view.h"
#include "model/attention_mode.h"

namespace cascade {

// Reads K and V of one sequence that are not in memory, in parts: a part is one layer of a page,
// KvLayout::part_bytes() bytes. One thread at a time.
class KvPartReader {
 public:
  virtual ~KvPartReader() = default;
  // Reads the parts of `layer` of these pages, numbered by their places in the chain, into `to`:
  // each at a multiple of KvLayout::part_stride(), as `to` itself. What is between two parts may be
  // overwritten. Parts are verified. After an error, all of `to` may have been overwritten. Does
  // not throw.
  virtual Status read(int layer, std::span<const int32_t> pages, uint8_t* to) = 0;
  // The forward pass waited this long for a read, and computed nothing meanwhile. Comes from the
  // thread of the pass.
  virtual void waited(int64_t /*us*/) {}
};

// Consecutive tokens of one sequence. Everything before `position` is in the pages already.
struct Slice {
  std::span<const int32_t> token_ids;  // each in [0, vocab_size)
  int64_t position = 0;                // of the first token; position + size <= 64 * pages.size()
  // The pages of the whole chain. Slots from `position` on are written; their pages are in memory.
  // A page before them may be nullptr if `absent` reads it, or if no token of the slice sees it in
  // any layer (unseen_pages()). If `attention` selects, all pages are in memory.
  KvPages pages;
  // Which tokens' final hidden states are wanted: the last `outputs` of the slice.
  int outputs = 0;
  KvPartReader* absent = nullptr;
  AttentionMode attention = {};
  // How many of the first pages have an index. The pass writes the index of each further page from
  // which a token at the slice's last position may choose (select_candidates()), or of some of them
  // if `attention` does not select, and raises the number. These pages are in memory, with room for
  // an index (KvLayout::indexed_page_bytes()). Needed if `attention` selects; nullptr: no index is
  // written.
  int64_t* indexed_pages = nullptr;
};

// One token of a pass; `slice` is the index of its slice.
struct SliceRow {
  int slice;
  int64_t position;
  bool output;
};

}  // namespace cascade
