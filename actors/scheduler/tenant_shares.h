// The tenants' shares of the computing time, and whether several of them want some.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "cache/fair_share.h"

namespace cascade {

// One thread.
class TenantShares {
 public:
  // Two minutes: longer than somebody who reads the answers pauses between requests.
  static constexpr int64_t kContendedUs = int64_t{120} * 1'000'000;

  // `clock` outlives this.
  explicit TenantShares(const Clock& clock) : clock_(clock) {}

  // The tenant has a request that can be computed.
  void ask(const std::string& tenant) {
    share_.add(tenant);
    asked_us_[tenant] = clock_.monotonic_us();
  }
  // Does the same as FairShare::charge(). Precondition: the tenant has asked.
  void charge(const std::string& tenant, double tokens) { share_.charge(tenant, tokens); }
  // Returns the same as FairShare::credit().
  double credit(const std::string& tenant) const { return share_.credit(tenant); }
  // Whether several tenants have asked within kContendedUs. A tenant that comes now and then is not
  // to find a long job in its way.
  bool contended() const {
    const int64_t since_us = clock_.monotonic_us() - kContendedUs;
    return 1 < std::ranges::count_if(asked_us_,
                                     [&](const auto& asked) { return asked.second >= since_us; });
  }

 private:
  const Clock& clock_;
  FairShare share_;
  std::map<std::string, int64_t> asked_us_;  // when each last had a request ready
};

}  // namespace cascade
