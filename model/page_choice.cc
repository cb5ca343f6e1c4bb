// The rule of selection; the kernels choose by it.
#include "model/page_choice.h"

#include <algorithm>

#include "base/check.h"
#include "model/attention_mode.h"

namespace cascade {
namespace {

constexpr int kWordPages = 64;

void set_bit(uint64_t* bits, int64_t page) {
  bits[page / kWordPages] |= uint64_t{1} << (page % kWordPages);
}

size_t words_of(int64_t position) {
  return static_cast<size_t>(position / kPageTokens / kWordPages) + 1;
}

}  // namespace

AttentionMode selecting_mode(const AttentionMode& mode, int layer, int layer_window) {
  AttentionMode of_layer = layer_mode(mode, layer_window);
  if (layer < of_layer.dense_layers) of_layer.selected = 0;
  return of_layer;
}

bool selects_somewhere(const AttentionMode& mode, int64_t position, const ModelConfig& config,
                       int layers) {
  for (int layer = 0; layer < layers; ++layer) {
    if (config.recurrent.is_recurrent(layer)) continue;
    const int window = config.window[static_cast<size_t>(layer)];
    if (selects(selecting_mode(mode, layer, window), position)) return true;
  }
  return false;
}

void PageChoice::reserve(int64_t position) {
  if (position <= position_) return;
  // With steps of 256 pages, a growing chain seldom needs more room.
  constexpr int64_t kStep = 256 * kPageTokens;
  const int64_t last = (position / kStep + 1) * kStep - 1;
  int heads = 0;
  for (int layer = 0; layer < config_.layers; ++layer) {
    if (config_.recurrent.is_recurrent(layer)) continue;
    heads = std::max(heads, config_.query_heads / config_.attention_shape(layer).kv_heads);
  }
  const size_t floats = choose_pages_scratch_floats(
      config_.head_dim_max(), kAttentionRowsMax, heads, static_cast<int>(last / kPageTokens) + 1);
  position_ = -1;
  scratch_ = {};  // before the allocation, which may throw
  scratch_ = allocate_aligned(floats * sizeof(float));
  bits_.resize(words_of(last) * kAttentionRowsMax);
  queries_.resize(static_cast<size_t>(kAttentionRowsMax) * heads);
  position_ = last;
}

void PageChoice::choose(const AttentionMode& mode, int layer, int kv_head,
                        std::span<const Row> rows) {
  CHECK(rows.size() <= chosen_.size());
  uint64_t* next = bits_.data();
  for (size_t i = 0; i < rows.size(); ++i) {
    chosen_[i] = nullptr;
    if (!selects(mode, rows[i].position)) continue;
    CHECK(rows[i].position <= position_);
    const size_t words = words_of(rows[i].position);
    std::fill_n(next, words, uint64_t{0});
    const int64_t own = rows[i].position / kPageTokens;
    for (int64_t page = 0; page < kSelectSinkPages; ++page) set_bit(next, page);
    for (int64_t page = own - kSelectRecentPages + 1; page <= own; ++page) set_bit(next, page);
    chosen_[i] = next;
    next += words;
  }
  for (size_t begin = 0; begin < rows.size();) {
    if (chosen_[begin] == nullptr) {
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (end < rows.size() && chosen_[end] != nullptr &&
           rows[end].indexes.data() == rows[begin].indexes.data()) {
      ++end;
    }
    choose_together(mode, layer, kv_head, rows.subspan(begin, end - begin),
                    std::span(chosen_).subspan(begin, end - begin));
    begin = end;
  }
}

void PageChoice::choose_together(const AttentionMode& mode, int layer, int kv_head,
                                 std::span<const Row> rows, std::span<uint64_t* const> chosen) {
  const AttentionShape shape = config_.attention_shape(layer);
  const int heads = config_.query_heads / shape.kv_heads;
  int32_t candidates_end[kAttentionRowsMax];
  for (size_t row = 0; row < rows.size(); ++row) {
    for (int head = 0; head < heads; ++head) {
      queries_[row * heads + head] = rows[row].queries + size_t(head) * shape.head_dim;
    }
    candidates_end[row] = static_cast<int32_t>(select_candidates(rows[row].position).end);
  }
  kernels_.choose_pages({.head_dim = shape.head_dim,
                         .scale = config_.attention_scale,
                         .pages = rows.front().indexes.data(),
                         .index_offset = layout_.index_offset(shape.kv_part, kv_head),
                         .rows = static_cast<int>(rows.size()),
                         .heads = heads,
                         .queries = queries_.data(),
                         .candidates_begin = kSelectSinkPages,
                         .candidates_end = candidates_end,
                         .count = mode.selected / kPageTokens,
                         .chosen = chosen.data(),
                         .scratch = reinterpret_cast<float*>(scratch_.get())});
}

}  // namespace cascade
