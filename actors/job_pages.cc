// Leased and unseen pages have no address. An index begins where KvLayout::index_offset() of its
// page would be.
#include "actors/job_pages.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "wire/messages.h"

namespace cascade {

JobPages::JobPages(const PageArena& arena, const KvLayout& layout, KvPartFiles* files,
                   std::span<const uint32_t> pages, const Indexes& indexes)
    : arena_(arena), layout_(layout), files_(files), pages_(pages), indexed_(indexes.count) {
  addresses_.reserve(pages.size());
  for (size_t i = 0; i < pages.size(); ++i) {
    if (pages[i] == wire::kUnseenPage) {
      addresses_.push_back(nullptr);
      continue;
    }
    const bool leased = (pages[i] & wire::kLeasedPage) != 0;
    addresses_.push_back(leased ? nullptr : arena.data(pages[i]));
    if (!leased) continue;
    leases_.resize(pages.size());
    leases_[i] = pages[i] & ~wire::kLeasedPage;
  }
  CHECK(leases_.empty() || files_ != nullptr);
  if (indexes.memory.empty()) return;
  const auto in_page = static_cast<size_t>(layout_.indexes_in_page());
  CHECK(indexes.memory.size() * in_page >= pages.size());
  for (size_t i = 0; i < pages.size(); ++i) {
    uint8_t* const index =
        arena.data(indexes.memory[i / in_page]) + i % in_page * layout_.indexes_bytes();
    indexes_.push_back(index - layout_.page_bytes());
  }
}

int64_t* JobPages::indexed() {
  if (indexes_.empty() && std::ranges::find(addresses_, nullptr) != addresses_.end()) {
    return nullptr;
  }
  for (; indexed_ < std::ssize(pages_); ++indexed_) {
    const uint8_t* const page = addresses_[indexed_];
    if (page == nullptr || !arena_.is_indexed(pages_[indexed_])) break;
    if (indexes_.empty()) continue;
    const size_t begin = layout_.index_offset(0, 0);
    std::memcpy(indexes_[indexed_] + begin, page + begin, layout_.indexes_bytes());
  }
  return &indexed_;
}

Status JobPages::read(int part, std::span<const int32_t> pages, uint8_t* to) {
  const size_t stride = layout_.parts[part].stride();
  std::vector<PartRead> parts;
  for (const int32_t page : pages) {
    parts.push_back({leases_[page], to});
    to += stride;
  }
  return read_all(part, std::span<const PartRead>(parts), pages, parts.size() * stride);
}

Status JobPages::read_blocks(int part, std::span<const int32_t> blocks, uint8_t* to) {
  const KvPartLayout& of = layout_.parts[part];
  std::vector<RangeRead> ranges;
  std::vector<int32_t> pages;
  for (const int32_t block : blocks) {
    const int32_t page = pages.emplace_back(block / of.kv_heads);
    const int head = block % of.kv_heads;
    RangeRead range = {leases_[page], to, head * of.block_bytes(), of.block_bytes()};
    std::memcpy(&range.checksum, indexes_[page] + layout_.block_checksum_offset(part, head),
                sizeof range.checksum);
    ranges.push_back(range);
    to += of.block_stride();
  }
  return read_all(part, std::span<const RangeRead>(ranges), pages,
                  ranges.size() * of.block_stride());
}

// Reads of these pages, each of which has one read; about `bytes` in all.
template <class Read>
Status JobPages::read_all(int part, std::span<const Read> reads, std::span<const int32_t> pages,
                          uint64_t bytes) {
  const int64_t begin_us = system_clock().monotonic_us();
  const auto unread = files_->read(static_cast<size_t>(part), reads);
  reading_.read_us += system_clock().monotonic_us() - begin_us;
  reading_.bytes += static_cast<int64_t>(bytes);
  if (!unread) return {};
  const bool lost =
      unread->error.code == ErrorCode::kDataCorrupt || unread->error.code == ErrorCode::kNotFound;
  if (lost) {
    lost_page_ = pages[unread->index];
  } else {
    error_ = unread->error;
  }
  return unread->error;
}

}  // namespace cascade
