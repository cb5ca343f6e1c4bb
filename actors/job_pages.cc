// A leased page has no address.
#include "actors/job_pages.h"

#include "base/check.h"
#include "wire/messages.h"

namespace cascade {

JobPages::JobPages(const PageArena& arena, const KvLayout& layout, KvPartFiles* files,
                   std::span<const uint32_t> pages)
    : layout_(layout), files_(files) {
  addresses_.reserve(pages.size());
  for (size_t i = 0; i < pages.size(); ++i) {
    const bool leased = (pages[i] & wire::kLeasedPage) != 0;
    addresses_.push_back(leased ? nullptr : arena.data(pages[i]));
    if (!leased) continue;
    leases_.resize(pages.size());
    leases_[i] = pages[i] & ~wire::kLeasedPage;
  }
  CHECK(leases_.empty() || files_ != nullptr);
}

Status JobPages::read(int layer, std::span<const int32_t> pages, uint8_t* to) {
  for (const int32_t page : pages) {
    Status read = files_->read(leases_[page], static_cast<size_t>(layer), to);
    if (!read.ok()) {
      const bool lost =
          read.error().code == ErrorCode::kDataCorrupt || read.error().code == ErrorCode::kNotFound;
      if (lost) {
        lost_page_ = page;
      } else {
        error_ = read.error();
      }
      return read;
    }
    to += layout_.part_stride();
  }
  return {};
}

}  // namespace cascade
