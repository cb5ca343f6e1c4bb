// Writes the indexes of pages from which tokens may choose.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "cache/kv_view.h"
#include "kernels/packed_matrix.h"
#include "kernels/thread_pool.h"
#include "model/read_buffer.h"
#include "model/slice.h"

namespace cascade {

// A page is indexed when a token may first choose it: its K and V are final then, since the latest
// pages are no candidates (select_candidates()). Absent pages are read for that, once each. The
// checksum of K and V stands beside an index. One thread calls the functions; the pool's threads
// share the work.
class PageIndexer {
 public:
  // The most bytes of absent pages that are read at a time; at least one part is.
  static constexpr size_t kReadBytes = size_t{32} << 20;

  // `pool` must outlive this. `read_bytes` is for tests.
  PageIndexer(const KvLayout& layout, ThreadPool& pool, size_t read_bytes = kReadBytes);

  // Finds the pages that the pass indexes, in slices that count theirs (Slice::indexed_pages). The
  // rows of a slice are neighbours, ascending. The slices, their pages and counts must stay until
  // the last part is indexed.
  void begin(std::span<const SliceRow> rows, std::span<const Slice> slices);
  // Whether index() reads absent pages. Nobody else may read them meanwhile.
  bool reads() const { return !absent_.empty(); }
  // Writes the indexes of `part` of these pages, whose keys are in them. Call it for all parts,
  // ascending, whether their layers select or not, so that an index does not depend on the mode.
  // The last part raises the slices' counts. Errors: those of a slice's reader; the counts stay as
  // they are, and only begin() may follow.
  Status index(int part);

 private:
  struct Page {
    uint8_t* index;        // an entry of Slice::all_indexes()
    const uint8_t* bytes;  // of the page
    bool operator==(const Page&) const = default;
    auto operator<=>(const Page&) const = default;
  };
  struct Absent {
    const Slice* slice;
    std::vector<int32_t> pages;
  };
  struct Count {
    int64_t* pages;
    int64_t raised;
  };

  Status index_absent(int part, const Absent& absent);
  void run(int part, std::span<const Page> pages);

  const KvLayout layout_;
  ThreadPool& pool_;
  const size_t read_bytes_;      // the most that are read at a time
  std::vector<Page> in_memory_;  // different ones
  std::vector<Absent> absent_;
  std::vector<Count> counts_;
  AlignedBytes scratch_;             // [threads]: made when a page is first indexed
  std::optional<ReadBuffer> parts_;  // made when absent pages are read
};

}  // namespace cascade
