// Which pages the rows of a pass choose, in layers that select.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cache/attention_pages.h"
#include "cache/kv_view.h"
#include "kernels/kernels.h"
#include "kernels/packed_matrix.h"
#include "model/config.h"
#include "model/slice.h"

namespace cascade {

// Returns the mode in which layer `layer` attends. `layer_window` is the layer's own window
// (layer_mode()). The first, dense layers do not select.
AttentionMode selecting_mode(const AttentionMode& mode, int layer, int layer_window);

// Whether a token at `position` selects in one of the first `layers` layers of a model.
bool selects_somewhere(const AttentionMode& mode, int64_t position, const ModelConfig& config,
                       int layers);

// Chooses pages for rows that are attended together, and keeps the result until the next call. The
// same rows get the same pages in any call. One thread.
class PageChoice {
 public:
  // All must outlive this.
  PageChoice(const ModelConfig& config, const Kernels& kernels, const KvLayout& layout)
      : config_(config), kernels_(kernels), layout_(layout) {}

  // Makes room for rows at up to `position`. May throw std::bad_alloc.
  void reserve(int64_t position);

  struct Row {
    int64_t position;
    const float* queries;  // of the KV head: its query heads one after the other
    KvPages indexes;       // Slice::all_indexes()
  };
  // Chooses for one KV head. Neighbours with the same pages are scored together. Allocates nothing.
  // Preconditions: at most kAttentionRowsMax rows; reserve() has made room for them; the pages that
  // a row may choose from have their indexes.
  void choose(const AttentionMode& mode, int layer, int kv_head, std::span<const Row> rows);
  // What row `row` of the last call chose (AttentionArgs::chosen); nullptr: it is dense.
  const uint64_t* of_row(size_t row) const { return chosen_[row]; }

 private:
  void choose_together(const AttentionMode& mode, int layer, int kv_head, std::span<const Row> rows,
                       std::span<uint64_t* const> chosen);

  const ModelConfig& config_;
  const Kernels& kernels_;
  const KvLayout& layout_;
  int64_t position_ = -1;                                 // of reserve()
  std::vector<uint64_t> bits_;                            // of all rows
  std::array<uint64_t*, kAttentionRowsMax> chosen_ = {};  // into bits_
  std::vector<const float*> queries_;
  AlignedBytes scratch_;
};

}  // namespace cascade
