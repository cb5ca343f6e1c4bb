// A task is one KV head of one page.
#include "model/page_indexer.h"

#include "base/checked.h"
#include "kernels/page_index.h"

namespace cascade {

void PageIndexer::begin(std::span<const SliceRow> rows, std::span<const Slice> slices) {
  full_.clear();
  for (const SliceRow& row : rows) {
    if (slices[row.slice].attention.selected == 0) continue;
    if (row.position % kPageTokens != kPageTokens - 1) continue;
    full_.push_back(slices[row.slice].pages[row.position / kPageTokens]);
  }
}

void PageIndexer::index(int layer) {
  if (full_.empty()) return;
  const size_t floats = round_up(index_page_scratch_floats(layout_.head_dim), size_t{16});
  if (!scratch_) scratch_ = allocate_aligned(floats * sizeof(float) * pool_.threads());
  pool_.run(static_cast<int>(full_.size()) * layout_.kv_heads, [&](int task, int thread) {
    uint8_t* page = full_[task / layout_.kv_heads];
    const int head = task % layout_.kv_heads;
    index_page(layout_.type, layout_.head_dim, page + layout_.key_offset(layer, head),
               reinterpret_cast<float*>(scratch_.get()) + thread * floats,
               page + layout_.index_offset(layer, head));
  });
}

}  // namespace cascade
