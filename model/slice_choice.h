// What all rows of one slice choose in a layer, for a slice whose pages are not all in memory: what
// is chosen has to be known before it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/thread_pool.h"
#include "model/page_choice.h"

namespace cascade {

// One thread calls the functions; the pool's threads share the work.
class SliceChoice {
 public:
  // A token of the slice.
  struct Row {
    int64_t position;
    const float* queries;  // of all query heads, one after the other
  };

  // Chooses for all KV heads of `layer`, which has this shape, and keeps the result until the next
  // call. Each thread of `pool` has one of `choices`, which have room for the rows
  // (PageChoice::reserve()). `heads` is the number of query heads of a KV head. `indexes` is
  // Slice::all_indexes(). Precondition: there is a row.
  void choose(const AttentionMode& mode, int layer, const AttentionShape& shape, int heads,
              KvPages indexes, std::span<const Row> rows, ThreadPool& pool,
              std::span<PageChoice> choices);

  // What row `row` chose for `kv_head` (AttentionArgs::chosen); nullptr: it is dense.
  const uint64_t* of(int kv_head, size_t row) const;

  // Returns those of `pages` that some row sees in some head.
  std::vector<int32_t> seen(std::span<const int32_t> pages) const;
  // Returns the numbers of their blocks that some row sees (KvPartReader::read_blocks()).
  std::vector<int32_t> seen_blocks(std::span<const int32_t> pages) const;

 private:
  uint64_t* bits(int kv_head, size_t row);
  bool sees(int kv_head, int64_t page) const;

  int kv_heads_ = 0;
  size_t rows_ = 0;
  size_t words_ = 0;            // of one row and head
  int64_t dense_pages_ = 0;     // the first pages, which rows see that are dense
  std::vector<bool> selects_;   // [rows]
  std::vector<uint64_t> bits_;  // [kv_heads][rows][words]
  std::vector<uint64_t> seen_;  // [kv_heads][words]: what some row chose
};

}  // namespace cascade
