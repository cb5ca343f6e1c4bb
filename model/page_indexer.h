// Writes the indexes of the pages that a forward pass fills.
#pragma once

#include <span>
#include <vector>

#include "cache/kv_view.h"
#include "kernels/packed_matrix.h"
#include "kernels/thread_pool.h"
#include "model/slice.h"

namespace cascade {

// One thread calls the functions; the pool's threads share the work.
class PageIndexer {
 public:
  // `pool` must outlive this.
  PageIndexer(const KvLayout& layout, ThreadPool& pool) : layout_(layout), pool_(pool) {}

  // Finds the pages that these rows fill, in sequences that select. The slices' pages must stay
  // until the pass ends.
  void begin(std::span<const SliceRow> rows, std::span<const Slice> slices);
  // Writes the indexes of `layer` of these pages. Their keys are in them. Call it for all layers,
  // whether they select or not, so that an index does not depend on the mode.
  void index(int layer);

 private:
  const KvLayout layout_;
  ThreadPool& pool_;
  std::vector<uint8_t*> full_;
  AlignedBytes scratch_;  // [threads]: made when a page is first indexed
};

}  // namespace cascade
