// Leased and unseen pages have no address.
#include "actors/job_pages.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"
#include "wire/messages.h"

namespace cascade {

JobPages::JobPages(const PageArena& arena, const KvLayout& layout, KvPartFiles* files,
                   std::span<const uint32_t> pages)
    : arena_(arena), layout_(layout), files_(files), pages_(pages) {
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
}

int64_t* JobPages::indexed() {
  if (std::ranges::find(addresses_, nullptr) != addresses_.end()) return nullptr;
  while (indexed_ < std::ssize(pages_) && arena_.is_indexed(pages_[indexed_])) ++indexed_;
  return &indexed_;
}

Status JobPages::read(int layer, std::span<const int32_t> pages, uint8_t* to) {
  std::vector<PartRead> parts;
  for (const int32_t page : pages) {
    parts.push_back({leases_[page], to});
    to += layout_.part_stride();
  }
  const int64_t begin_us = system_clock().monotonic_us();
  const auto unread = files_->read(static_cast<size_t>(layer), parts);
  reading_.read_us += system_clock().monotonic_us() - begin_us;
  reading_.bytes += static_cast<int64_t>(parts.size() * layout_.part_stride());
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
