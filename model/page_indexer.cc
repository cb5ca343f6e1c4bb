// A task is one KV head of one page.
#include "model/page_indexer.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "cache/attention_pages.h"
#include "kernels/page_index.h"

namespace cascade {
namespace {

// How many pages a slice indexes that does not select, so that a long chain without indexes takes
// many passes, and not one that is long. The slice of the most rows may fill as many.
constexpr int64_t kAheadPages = 32;

}  // namespace

void PageIndexer::begin(std::span<const SliceRow> rows, std::span<const Slice> slices) {
  pages_.clear();
  counts_.clear();
  for (size_t row = 0; row < rows.size(); ++row) {
    const bool is_last = row + 1 == rows.size() || rows[row + 1].slice != rows[row].slice;
    const Slice& slice = slices[rows[row].slice];
    CHECK(slice.attention.selected == 0 || slice.indexed_pages != nullptr);
    if (!is_last || slice.indexed_pages == nullptr) continue;
    const int64_t begin = *slice.indexed_pages;
    int64_t end = select_candidates(rows[row].position).end;
    if (end <= begin) continue;
    if (slice.attention.selected == 0) end = std::min(end, begin + kAheadPages);
    counts_.push_back({slice.indexed_pages, end});
    const KvPages more = slice.pages.subspan(begin, end - begin);
    pages_.insert(pages_.end(), more.begin(), more.end());
  }
  // Sequences may share pages, and two threads must not write the same one.
  std::ranges::sort(pages_);
  pages_.erase(std::ranges::unique(pages_).begin(), pages_.end());
  CHECK(pages_.empty() || pages_.front() != nullptr);
}

void PageIndexer::index(int layer) {
  if (pages_.empty()) return;
  const size_t floats = round_up(index_page_scratch_floats(layout_.head_dim), size_t{16});
  if (!scratch_) scratch_ = allocate_aligned(floats * sizeof(float) * pool_.threads());
  pool_.run(static_cast<int>(pages_.size()) * layout_.kv_heads, [&](int task, int thread) {
    uint8_t* page = pages_[task / layout_.kv_heads];
    const int head = task % layout_.kv_heads;
    index_page(layout_.type, layout_.head_dim, page + layout_.key_offset(layer, head),
               reinterpret_cast<float*>(scratch_.get()) + thread * floats,
               page + layout_.index_offset(layer, head));
  });
  if (layer + 1 < layout_.layers) return;
  for (const Count& count : counts_) *count.pages = count.raised;
}

}  // namespace cascade
