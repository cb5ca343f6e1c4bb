// The memory of all pages: address space for the whole budget, physical memory as pages are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"

namespace cascade {

// The number of a page in the arena.
using PageIndex = uint32_t;
// A number with this bit is not that of a page in memory. The other bits are the number of a lease:
// the store knows where the page is on disk (persist/page_leases.h).
inline constexpr PageIndex kLeasedPage = PageIndex{1} << 31;
// The page is neither in memory nor on disk: it must be computed again.
inline constexpr PageIndex kLostPage = ~PageIndex{0};
inline constexpr bool in_memory(PageIndex page) {
  return page < kLeasedPage;
}

// Reserves addresses once, so that a page's address never changes and may be used on any thread
// while other pages are allocated. The bytes of a page that was never written are 0.
class PageArena {
 public:
  // Pages are aligned to 4 KiB. Errors: kInvalidArgument if page_bytes or page_count is 0 or their
  // product overflows; kResourceExhausted if the system refuses the addresses.
  static Result<PageArena> create(size_t page_bytes, size_t page_count);

  PageArena(PageArena&& other) noexcept;
  PageArena& operator=(PageArena&& other) noexcept;
  ~PageArena();

  size_t page_count() const { return page_count_; }
  // As given to create().
  size_t page_bytes() const { return page_bytes_; }

  // The page's memory. Precondition: page < page_count(). Any thread.
  uint8_t* data(PageIndex page) const;

  // Gives the page's physical memory back to the system; it reads 0 afterwards.
  void discard(PageIndex page) const;

  // Whether the page has an index of its present keys (KvLayout::index_offset()). No page has one
  // at first, or after discard(). The scheduler sets it; any thread may read it.
  bool is_indexed(PageIndex page) const;
  void set_indexed(PageIndex page, bool indexed) const;

 private:
  PageArena(uint8_t* base, size_t page_bytes, size_t stride, size_t page_count);

  uint8_t* base_ = nullptr;
  size_t page_bytes_ = 0;
  size_t stride_ = 0;  // page_bytes rounded up to 4 KiB
  size_t page_count_ = 0;
  std::unique_ptr<std::atomic<bool>[]> indexed_;  // [page_count_]
};

}  // namespace cascade
