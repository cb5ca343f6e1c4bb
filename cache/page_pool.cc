// A stack of freed pages, and a mark behind which no page was ever touched.
#include "cache/page_pool.h"

#include "base/check.h"

namespace cascade {

PagePool::PagePool(size_t page_count) : references_(page_count, 0) {}

std::optional<PageIndex> PagePool::allocate() {
  PageIndex page;
  if (!freed_.empty()) {
    page = freed_.back();
    freed_.pop_back();
  } else if (never_used_ < references_.size()) {
    page = never_used_++;
  } else {
    return std::nullopt;
  }
  references_[page] = 1;
  ++used_count_;
  return page;
}

void PagePool::retain(PageIndex page) {
  CHECK(page < references_.size() && references_[page] > 0);
  ++references_[page];
}

bool PagePool::release(PageIndex page) {
  CHECK(page < references_.size() && references_[page] > 0);
  if (--references_[page] > 0) return false;
  freed_.push_back(page);
  --used_count_;
  return true;
}

}  // namespace cascade
