// A task is one KV head of one page.
#include "model/page_indexer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "base/clock.h"
#include "cache/attention_pages.h"
#include "kernels/page_index.h"
#include "model/packed_file.h"

namespace cascade {
namespace {

// How many pages a slice indexes that does not select, so that a long chain without indexes takes
// many passes, and not one that is long. The slice of the most rows may fill as many.
constexpr int64_t kAheadPages = 32;

}  // namespace

PageIndexer::PageIndexer(const KvLayout& layout, ThreadPool& pool, size_t read_bytes)
    : layout_(layout), pool_(pool), read_bytes_(read_bytes) {}

void PageIndexer::begin(std::span<const SliceRow> rows, std::span<const Slice> slices) {
  in_memory_.clear();
  absent_.clear();
  counts_.clear();
  for (size_t row = 0; row < rows.size(); ++row) {
    const bool is_last = row + 1 == rows.size() || rows[row + 1].slice != rows[row].slice;
    const Slice& slice = slices[rows[row].slice];
    CHECK(slice.attention.selected == 0 || slice.indexed_pages != nullptr);
    if (!is_last || slice.indexed_pages == nullptr) continue;
    const int64_t begin = *slice.indexed_pages;
    int64_t end = select_candidates(rows[row].position).end;
    if (slice.attention.selected == 0 && begin < end) end = std::min(end, begin + kAheadPages);
    // Recent pages may be absent, too, and the checksums of their blocks stand beside indexes.
    if (!slice.indexes.empty()) end = std::max(end, slice.position / kPageTokens);
    if (end <= begin) continue;
    counts_.push_back({slice.indexed_pages, end});
    Absent absent = {&slice, {}};
    for (int64_t page = begin; page < end; ++page) {
      if (slice.pages[page] != nullptr) {
        in_memory_.push_back({slice.all_indexes()[page], slice.pages[page]});
      } else {
        absent.pages.push_back(static_cast<int32_t>(page));
      }
    }
    if (absent.pages.empty()) continue;
    CHECK(slice.absent != nullptr && !slice.indexes.empty());
    absent_.push_back(std::move(absent));
  }
  if (absent_.empty()) parts_.reset();
  // Sequences may share pages, and two threads must not write the same index.
  std::ranges::sort(in_memory_);
  in_memory_.erase(std::ranges::unique(in_memory_).begin(), in_memory_.end());
}

Status PageIndexer::index(int part) {
  if (counts_.empty()) return {};
  run(part, in_memory_);
  for (const Absent& absent : absent_) RETURN_IF_ERROR(index_absent(part, absent));
  if (part + 1 < layout_.part_count()) return {};
  for (const Count& count : counts_) *count.pages = count.raised;
  return {};
}

Status PageIndexer::index_absent(int part, const Absent& absent) {
  const size_t stride = layout_.parts[part].stride();
  const size_t parts_max = std::max<size_t>(1, read_bytes_ / stride);
  if (!parts_) {
    const size_t largest = std::ranges::max(layout_.parts, {}, &KvPartLayout::stride).stride();
    parts_.emplace(std::max(read_bytes_, largest));
  }
  const Slice& slice = *absent.slice;
  std::vector<Page> pages;
  for (std::span<const int32_t> left = absent.pages; !left.empty();) {
    const auto read = left.first(std::min(left.size(), parts_max));
    const int64_t begin_us = system_clock().monotonic_us();
    RETURN_IF_ERROR(slice.absent->read(part, read, parts_->data()));
    slice.absent->waited(system_clock().monotonic_us() - begin_us);
    pages.clear();
    // Offsets count from the beginning of a page.
    const uint8_t* bytes = parts_->data() - layout_.parts[part].begin;
    for (const int32_t page : read) {
      pages.push_back({slice.all_indexes()[page], bytes});
      bytes += stride;
    }
    run(part, pages);
    left = left.subspan(read.size());
  }
  return {};
}

void PageIndexer::run(int part, std::span<const Page> pages) {
  const KvPartLayout& of = layout_.parts[part];
  const int dim_max = std::ranges::max(layout_.parts, {}, &KvPartLayout::head_dim).head_dim;
  const size_t floats = round_up(index_page_scratch_floats(dim_max), size_t{16});
  if (!scratch_) scratch_ = allocate_aligned(floats * sizeof(float) * pool_.threads());
  pool_.run(static_cast<int>(pages.size()) * of.kv_heads, [&](int task, int thread) {
    const Page& page = pages[task / of.kv_heads];
    const int head = task % of.kv_heads;
    const uint8_t* const block = page.bytes + layout_.key_offset(part, head);
    index_page(layout_.type, of.head_dim, block,
               reinterpret_cast<float*>(scratch_.get()) + thread * floats,
               page.index + layout_.index_offset(part, head));
    const uint64_t checksum = packed_checksum({block, of.block_bytes()});
    std::memcpy(page.index + layout_.block_checksum_offset(part, head), &checksum, sizeof checksum);
  });
}

}  // namespace cascade
