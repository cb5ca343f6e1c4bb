// A task is a KV head of some neighbouring rows.
#include "model/slice_choice.h"

#include <algorithm>

#include "base/check.h"
#include "cache/attention_pages.h"

namespace cascade {
namespace {

constexpr int kPagesOfWord = 64;

}  // namespace

void SliceChoice::choose(const AttentionMode& mode, int layer, const AttentionShape& shape,
                         int heads, KvPages indexes, std::span<const Row> rows, ThreadPool& pool,
                         std::span<PageChoice> choices) {
  CHECK(!rows.empty());
  const int64_t latest = std::ranges::max(rows, {}, &Row::position).position;
  kv_heads_ = shape.kv_heads;
  rows_ = rows.size();
  words_ = static_cast<size_t>(latest / kPageTokens / kPagesOfWord) + 1;
  bits_.assign(shape.kv_heads * rows_ * words_, 0);
  selects_.resize(rows_);
  dense_pages_ = 0;
  for (size_t row = 0; row < rows_; ++row) {
    selects_[row] = selects(mode, rows[row].position);
    if (!selects_[row]) {
      dense_pages_ = std::max(dense_pages_, rows[row].position / kPageTokens + 1);
    }
  }
  const int blocks = static_cast<int>((rows_ + kAttentionRowsMax - 1) / kAttentionRowsMax);
  pool.run(shape.kv_heads * blocks, [&](int task, int thread) {
    const int head = task / blocks;
    const size_t begin = size_t(task % blocks) * kAttentionRowsMax;
    const size_t count = std::min<size_t>(kAttentionRowsMax, rows_ - begin);
    PageChoice::Row of_head[kAttentionRowsMax];
    for (size_t i = 0; i < count; ++i) {
      const Row& row = rows[begin + i];
      of_head[i] = {row.position, row.queries + size_t(head) * heads * shape.head_dim, indexes};
    }
    PageChoice& choice = choices[thread];
    choice.choose(mode, layer, head, std::span(of_head, count));
    for (size_t i = 0; i < count; ++i) {
      const uint64_t* const chosen = choice.of_row(i);
      if (chosen == nullptr) continue;
      const auto words = of_head[i].position / kPageTokens / kPagesOfWord + 1;
      std::copy_n(chosen, words, bits(head, begin + i));
    }
  });
  seen_.assign(kv_heads_ * words_, 0);
  for (size_t i = 0; i < bits_.size(); ++i) {
    seen_[i / (rows_ * words_) * words_ + i % words_] |= bits_[i];
  }
}

uint64_t* SliceChoice::bits(int kv_head, size_t row) {
  return bits_.data() + (kv_head * rows_ + row) * words_;
}

const uint64_t* SliceChoice::of(int kv_head, size_t row) const {
  CHECK(row < rows_);
  return selects_[row] ? bits_.data() + (kv_head * rows_ + row) * words_ : nullptr;
}

bool SliceChoice::sees(int kv_head, int64_t page) const {
  if (page < dense_pages_) return true;
  return (seen_[kv_head * words_ + page / kPagesOfWord] >> (page % kPagesOfWord) & 1) != 0;
}

std::vector<int32_t> SliceChoice::seen(std::span<const int32_t> pages) const {
  std::vector<int32_t> found;
  for (const int32_t page : pages) {
    bool any = false;
    for (int head = 0; head < kv_heads_ && !any; ++head) any = sees(head, page);
    if (any) found.push_back(page);
  }
  return found;
}

std::vector<int32_t> SliceChoice::seen_blocks(std::span<const int32_t> pages) const {
  std::vector<int32_t> found;
  for (const int32_t page : pages) {
    for (int head = 0; head < kv_heads_; ++head) {
      if (sees(head, page)) found.push_back(page * kv_heads_ + head);
    }
  }
  return found;
}

}  // namespace cascade
