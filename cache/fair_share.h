// Whose turn it is: deficit counters of the tenants, in tokens.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace cascade {

// What is computed for one tenant is charged to it and credited to the others, in equal parts, so
// that the tenant with the largest credit is the one furthest below its share: deficit round robin
// (Shreedhar, Varghese 1995) with a slice as its quantum. A tenant that asks for nothing keeps its
// credit, up to a limit: one that comes now and then is served at once, for as many tokens, while
// others always have work waiting. One thread.
class FairShare {
 public:
  // Both ways: a few prompts of ordinary length.
  static constexpr double kCreditTokensMax = 4096;

  // From now on the tenant has a share. Nothing if it has one.
  void add(const std::string& tenant) { credit_.try_emplace(tenant, 0.0); }

  // `tokens` were computed for `tenant`, which has a share. Sampled tokens count as many prompt
  // tokens as could have been computed in their time.
  void charge(const std::string& tenant, double tokens);

  // Higher goes first. 0 for a tenant without a share.
  double credit(const std::string& tenant) const;

 private:
  std::map<std::string, double> credit_;
};

}  // namespace cascade
