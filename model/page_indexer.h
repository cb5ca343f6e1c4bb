// Writes the indexes of pages from which tokens may choose.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/kv_view.h"
#include "kernels/packed_matrix.h"
#include "kernels/thread_pool.h"
#include "model/slice.h"

namespace cascade {

// A page is indexed when a token may first choose it: its K and V are final then, since the latest
// pages are no candidates (select_candidates()). One thread calls the functions; the pool's threads
// share the work.
class PageIndexer {
 public:
  // `pool` must outlive this.
  PageIndexer(const KvLayout& layout, ThreadPool& pool) : layout_(layout), pool_(pool) {}

  // Finds the pages that the pass indexes, in slices that count theirs (Slice::indexed_pages). The
  // rows of a slice are neighbours, ascending. The slices' pages and counts must stay until the
  // last layer is indexed.
  void begin(std::span<const SliceRow> rows, std::span<const Slice> slices);
  // Writes the indexes of `layer` of these pages, whose keys are in them. Call it for all layers,
  // ascending, whether they select or not, so that an index does not depend on the mode. The last
  // layer raises the slices' counts.
  void index(int layer);

 private:
  struct Count {
    int64_t* pages;
    int64_t raised;
  };

  const KvLayout layout_;
  ThreadPool& pool_;
  std::vector<uint8_t*> pages_;  // different ones
  std::vector<Count> counts_;
  AlignedBytes scratch_;  // [threads]: made when a page is first indexed
};

}  // namespace cascade
