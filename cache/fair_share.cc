// Charges and credits within a limit.
#include "cache/fair_share.h"

#include <algorithm>

namespace cascade {

void FairShare::charge(const std::string& tenant, double tokens) {
  const auto others = static_cast<double>(credit_.size()) - 1;
  if (others < 1) return;
  for (auto& [name, credit] : credit_) {
    const double change = name == tenant ? -tokens : tokens / others;
    credit = std::clamp(credit + change, -kCreditTokensMax, kCreditTokensMax);
  }
}

double FairShare::credit(const std::string& tenant) const {
  const auto found = credit_.find(tenant);
  return found == credit_.end() ? 0 : found->second;
}

}  // namespace cascade
