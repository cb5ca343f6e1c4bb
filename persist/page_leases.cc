// A table behind a lock; readers share what they found.
#include "persist/page_leases.h"

#include <utility>

namespace cascade {

uint32_t PageLeases::add(LeasedPage page) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(leases_.size()));
    leases_.emplace_back();
  }
  const uint32_t lease = free_.back();
  free_.pop_back();
  ++files_[page.file];
  leases_[lease] = std::make_shared<const LeasedPage>(std::move(page));
  return lease;
}

void PageLeases::release(uint32_t lease) {
  const std::lock_guard lock(mutex_);
  if (lease >= leases_.size() || leases_[lease] == nullptr) return;
  const auto file = files_.find(leases_[lease]->file);
  if (--file->second == 0) files_.erase(file);
  leases_[lease] = nullptr;
  free_.push_back(lease);
}

void PageLeases::release_all() {
  const std::lock_guard lock(mutex_);
  leases_.clear();
  free_.clear();
  files_.clear();
}

std::shared_ptr<const LeasedPage> PageLeases::find(uint32_t lease) const {
  const std::lock_guard lock(mutex_);
  return lease < leases_.size() ? leases_[lease] : nullptr;
}

bool PageLeases::has_file(int64_t number) const {
  const std::lock_guard lock(mutex_);
  return files_.contains(number);
}

std::vector<Digest> PageLeases::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<Digest> keys;
  for (const auto& page : leases_) {
    if (page != nullptr) keys.push_back(page->key);
  }
  return keys;
}

size_t PageLeases::count() const {
  const std::lock_guard lock(mutex_);
  return leases_.size() - free_.size();
}

}  // namespace cascade
