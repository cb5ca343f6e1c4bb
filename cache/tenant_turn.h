// Which of the tenants that wait goes first.
#pragma once

#include <cstdint>
#include <tuple>

#include "cache/fair_share.h"

namespace cascade {

// The requests that a tenant has, and what it is owed. A tenant that asks for one thing at a time
// goes before those that have more to do than they get: it can never hold more than one place, so
// they lose little, and its user waits for nobody's queue. They get their share all the same, since
// one that is owed as much as a tenant can be goes before it.
struct TenantTurn {
  int64_t running = 0;       // requests
  bool asks_singly = false;  // has one request, and was not told to come again with another
  double credit_tokens = 0;  // of FairShare

  bool starves() const { return credit_tokens >= FairShare::kCreditTokensMax; }

  // Whether this tenant gets the next place before the other one.
  bool goes_before(const TenantTurn& other) const { return place_order() < other.place_order(); }

  // Whose prompt is computed next: smaller goes first. `tokens_left`: of the prompt. One that is
  // longer than what a tenant can be owed has no precedence.
  std::tuple<bool, bool, double> prompt_order(int64_t tokens_left) const {
    const bool is_short = static_cast<double>(tokens_left) <= FairShare::kCreditTokensMax;
    return {!starves(), !(asks_singly && is_short), -credit_tokens};
  }

 private:
  std::tuple<int64_t, bool, bool, double> place_order() const {
    return {running, !starves(), !asks_singly, -credit_tokens};
  }
};

}  // namespace cascade
