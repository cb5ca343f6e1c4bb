// A stack of freed pages: nobody needs the pages that stay at its bottom.
#include "cache/page_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cascade {

PagePool::PagePool(size_t page_count) : references_(page_count, 0), owners_(page_count, 0) {}

std::optional<PageIndex> PagePool::allocate() {
  PageIndex page;
  if (!freed_.empty()) {
    page = freed_.back();
    freed_.pop_back();
    idle_count_ = std::min(idle_count_, freed_.size());
  } else if (!cold_.empty()) {
    page = cold_.back();
    cold_.pop_back();
  } else if (never_used_ < references_.size()) {
    page = never_used_++;
  } else {
    return std::nullopt;
  }
  references_[page] = 1;
  ++used_count_;
  return page;
}

bool PagePool::change_owner(PageIndex page, uint32_t owner) {
  CHECK(page < references_.size() && references_[page] == 1);
  const uint64_t before = std::exchange(owners_[page], uint64_t{owner} + 1);
  return before != 0 && before != owners_[page];
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

std::vector<PageIndex> PagePool::take_idle(size_t count_max) {
  const auto count = static_cast<ptrdiff_t>(std::min(idle_count_, count_max));
  const std::vector<PageIndex> idle(freed_.begin(), freed_.begin() + count);
  freed_.erase(freed_.begin(), freed_.begin() + count);
  for (const PageIndex page : idle) owners_[page] = 0;
  cold_.insert(cold_.end(), idle.begin(), idle.end());
  idle_count_ -= idle.size();
  return idle;
}

}  // namespace cascade
