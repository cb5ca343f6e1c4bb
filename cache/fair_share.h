// Decides whose turn it is: deficit counters of the tenants, in tokens.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace cascade {

// The tokens computed for one tenant are charged to it and credited to the others, in equal parts.
// So the tenant with the largest credit is the one furthest below its share: deficit round robin
// (Shreedhar, Varghese 1995) with a slice as its quantum. A tenant that asks for nothing keeps its
// credit, up to a limit. So a tenant that comes now and then is served at once, for that many
// tokens, even while others always have work waiting. One thread.
class FairShare {
 public:
  // The limit of credit and of debt: a few prompts of ordinary length.
  static constexpr double kCreditTokensMax = 4096;

  // Gives the tenant a share from now on. Does nothing if it has one.
  void add(const std::string& tenant) { credit_.try_emplace(tenant, 0.0); }

  // Notes that `tokens` were computed for `tenant`, which has a share. A sampled token counts as
  // the number of prompt tokens that could have been computed in its time.
  void charge(const std::string& tenant, double tokens);

  // The tenant with the higher credit goes first. 0 for a tenant without a share.
  double credit(const std::string& tenant) const;

 private:
  std::map<std::string, double> credit_;
};

}  // namespace cascade
