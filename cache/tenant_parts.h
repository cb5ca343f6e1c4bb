// Shares out a bounded amount among tenants, so that no tenant can take all of it from the others.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace cascade {

// The amount can be of anything: places in a queue, tokens, bytes. A tenant that is alone may take
// the whole amount. A tenant that finds the amount taken by others still gets its part: half of
// what an equal division among the tenants that have some would give it, and one thing of any size
// if it has nothing. This part is added to the amount, so nothing is taken back from the tenants
// that came first; most_in_all() says how much that can be in all. One thread.
class TenantParts {
 public:
  // amount >= 1.
  explicit TenantParts(int64_t amount) : amount_(amount) {}

  // Changes the amount. Takes nothing back from tenants that have more than their part of it.
  void set_amount(int64_t amount) { amount_ = amount; }
  int64_t amount() const { return amount_; }

  // Whether the tenant may take `more` (>= 0) in addition to what it has.
  bool may_take(const std::string& tenant, int64_t more) const;
  // What the tenant may have, whatever the others have. At least 1.
  int64_t part_of(const std::string& tenant) const;

  // Adds `change` to what the tenant has. Precondition: the sum is not negative.
  void add(const std::string& tenant, int64_t change);

  int64_t total() const { return total_; }
  int64_t of(const std::string& tenant) const;
  // The number of tenants that have something.
  int64_t tenants() const { return static_cast<int64_t>(taken_.size()); }

  // The most that `tenants` can have together, if none takes what may_take() denies, and each takes
  // at most `largest` (<= amount) at once.
  static int64_t most_in_all(int64_t amount, int64_t tenants, int64_t largest);

 private:
  int64_t amount_;
  int64_t total_ = 0;
  std::map<std::string, int64_t> taken_;  // by tenant; 0 is left out
};

// Whether the tenant may begin one more job beside `jobs`, when there may be `amount` in all.
// tenant_of(job) names the tenant of a job. Only for few jobs: all are counted.
template <class Jobs, class TenantOf>
bool may_begin(const Jobs& jobs, int64_t amount, const std::string& tenant,
               const TenantOf& tenant_of) {
  TenantParts parts(amount);
  for (const auto& job : jobs) parts.add(tenant_of(job), 1);
  return parts.may_take(tenant, 1);
}

}  // namespace cascade
