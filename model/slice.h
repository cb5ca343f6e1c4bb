// What a forward pass computes: consecutive tokens of sequences, and where their K and V are.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "cache/kv_view.h"
#include "model/attention_mode.h"

namespace cascade {

// Reads K and V of one sequence that are not in memory: parts of pages, or blocks, which are one KV
// head of a part (KvPartLayout). One thread at a time.
class KvPartReader {
 public:
  virtual ~KvPartReader() = default;
  // Reads part `part` of these pages, numbered by their places in the chain, into `to`: each at a
  // multiple of KvPartLayout::stride(), as `to` itself. What is between two parts may be
  // overwritten. Parts are verified. After an error, all of `to` may have been overwritten. Does
  // not throw.
  virtual Status read(int part, std::span<const int32_t> pages, uint8_t* to) = 0;
  // The same for blocks of pages that have an index. A block has the number page * kv_heads + head,
  // with the KV heads of the part. What is read of a block is at a multiple of
  // KvPartLayout::block_stride(); KvPartLayout::block_shift() says where the block begins. Blocks
  // are verified by the checksums that stand with the indexes.
  virtual Status read_blocks(int part, std::span<const int32_t> blocks, uint8_t* to) = 0;
  // The forward pass waited this long for a read, and computed nothing meanwhile. Comes from the
  // thread of the pass.
  virtual void waited(int64_t /*us*/) {}
};

// A recurrent state in the middle of a slice, or at its end, that is wanted.
struct KeptState {
  int tokens;    // of the slice, before the state; at least 1
  float* state;  // receives it; [RecurrentConfig::state_floats()]
};

// Consecutive tokens of one sequence. Everything before `position` is in the pages already.
struct Slice {
  std::span<const int32_t> token_ids;  // each in [0, vocab_size)
  int64_t position = 0;                // of the first token; position + size <= 64 * pages.size()
  // The pages of the whole chain. Slots from `position` on are written; their pages are in memory.
  // A page before them may be nullptr if `absent` reads it, or if no token of the slice sees it in
  // any layer (unseen_pages()).
  KvPages pages;
  // Which tokens' final hidden states are wanted: the last `outputs` of the slice.
  int outputs = 0;
  KvPartReader* absent = nullptr;
  AttentionMode attention = {};
  // How many of the first pages have an index. The pass writes the index of each further page from
  // which a token at the slice's last position may choose (select_candidates()), or of some of them
  // if `attention` does not select, and raises the number. With `indexes`, it writes those of all
  // pages before the slice. Needed if `attention` selects; nullptr: no index is written.
  int64_t* indexed_pages = nullptr;
  // [pages]: the index of `part` and `head` of page p is at indexes[p] +
  // KvLayout::index_offset(part, head). Empty: it follows K and V in the page, which has room for
  // it (KvLayout::indexed_page_bytes()); then no page that is to be indexed is absent.
  KvPages indexes = {};
  // The recurrent state before the slice and after it, [RecurrentConfig::state_floats()] each, if
  // the model has recurrent layers. At position 0, state_from may be nullptr: all is 0. Both may be
  // the same. No other slice of the call reads or writes state_to. After an error, its contents are
  // of no use.
  const float* state_from = nullptr;
  float* state_to = nullptr;
  // Further states that are wanted, in ascending order. The memory of each is its own.
  std::span<const KeptState> kept_states = {};
  // How many positions before the slice have no token, because tokens were taken out of the chain
  // (Approximation::kMask). RoPE counts them; windows do not.
  int64_t free_positions = 0;

  // Where the index of each page is, as `indexes` says it.
  KvPages all_indexes() const { return indexes.empty() ? pages : indexes; }
};

// One token of a pass; `slice` is the index of its slice.
struct SliceRow {
  int slice;
  int64_t position;
  bool output;
  int64_t rope_position = position;  // free positions counted
};

}  // namespace cascade
