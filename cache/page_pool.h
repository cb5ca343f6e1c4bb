// Which pages are free, and how often each other page is used. Bookkeeping only: no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cache/page_arena.h"

namespace cascade {

// One thread.
class PagePool {
 public:
  explicit PagePool(size_t page_count);

  // Returns a free page, with one reference: the page freed last, whose memory is warm. nullopt if
  // none is free.
  std::optional<PageIndex> allocate();
  // Notes that the page, which was just allocated, now belongs to `owner`. True if it belonged to
  // somebody else, whose bytes may still be in its memory.
  bool change_owner(PageIndex page, uint32_t owner);
  // Adds a reference. Precondition: the page is in use.
  void retain(PageIndex page);
  // Takes a reference away; true if it was the last one and the page is free now.
  bool release(PageIndex page);

  // Returns at most `count_max` of the free pages that nobody has needed since mark_idle(). Their
  // memory can be given back to the system. They are handed out after all other freed pages.
  std::vector<PageIndex> take_idle(size_t count_max);
  // Marks all pages that are free now as not needed, until they are used.
  void mark_idle() { idle_count_ = freed_.size(); }

  uint32_t references(PageIndex page) const { return references_[page]; }
  size_t page_count() const { return references_.size(); }
  size_t free_count() const { return references_.size() - used_count_; }
  size_t used_count() const { return used_count_; }

 private:
  std::vector<uint32_t> references_;  // [pages]; 0 = free
  // [pages]: one more than the id of the owner whose bytes may still be in the page's memory; 0:
  // nobody's.
  std::vector<uint64_t> owners_;
  std::vector<PageIndex> freed_;  // pages that have memory; the last freed is at the end
  size_t idle_count_ = 0;         // pages at the front, untouched since mark_idle()
  std::vector<PageIndex> cold_;   // freed pages that take_idle() returned: they have no memory
  PageIndex never_used_ = 0;      // pages from here on were never handed out
  size_t used_count_ = 0;
};

}  // namespace cascade
