// Counts what each tenant has taken, and divides the amount among the tenants.
#include "cache/tenant_parts.h"

#include <algorithm>

#include "base/check.h"

namespace cascade {

bool TenantParts::may_take(const std::string& tenant, int64_t more) const {
  const int64_t own = of(tenant);
  if (own == 0 || more <= amount_ - total_) return true;
  return more <= part_of(tenant) - own;
}

int64_t TenantParts::part_of(const std::string& tenant) const {
  const int64_t sharers = tenants() + (taken_.contains(tenant) ? 0 : 1);
  return std::max<int64_t>(1, amount_ / (2 * sharers));
}

void TenantParts::add(const std::string& tenant, int64_t change) {
  if (change == 0) return;
  const auto entry = taken_.try_emplace(tenant, 0).first;
  entry->second += change;
  total_ += change;
  CHECK(entry->second >= 0);
  if (entry->second == 0) taken_.erase(entry);
}

int64_t TenantParts::of(const std::string& tenant) const {
  const auto found = taken_.find(tenant);
  return found == taken_.end() ? 0 : found->second;
}

// The first tenant takes all of it. The second then adds its part among two, the third its part
// among three, and so on.
int64_t TenantParts::most_in_all(int64_t amount, int64_t tenants, int64_t largest) {
  int64_t most = amount;
  for (int64_t sharers = 2; sharers <= tenants; ++sharers) {
    most += std::max({int64_t{1}, largest, amount / (2 * sharers)});
  }
  return most;
}

}  // namespace cascade
