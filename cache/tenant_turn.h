// Decides which of the waiting tenants goes first.
#pragma once

#include <cstdint>
#include <tuple>

#include "cache/fair_share.h"

namespace cascade {

// The requests that a tenant has, and what it is owed. A tenant that asks for one thing at a time
// goes before tenants that have more to do than they get. It can never hold more than one place, so
// the others lose little, and its user does not wait for anybody's queue. The others still get
// their share, since a tenant with the largest possible credit goes even before it.
struct TenantTurn {
  int64_t running = 0;       // requests
  bool asks_singly = false;  // has one request, and was not told to come back with another
  double credit_tokens = 0;  // see FairShare

  bool starves() const { return credit_tokens >= FairShare::kCreditTokensMax; }

  // Whether this tenant gets the next place before the other one.
  bool goes_before(const TenantTurn& other) const { return place_order() < other.place_order(); }

  // The order in which tenants' prompts are computed: smaller goes first. `tokens_left` is that of
  // the prompt. A prompt longer than what a tenant can be owed gets no precedence for asking
  // singly.
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
