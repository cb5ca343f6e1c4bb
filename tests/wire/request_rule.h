// The rule that a request breaks.
#pragma once

#include <string>

#include "wire/request_rules.h"

namespace cascade::wire::testing {

// The error's text, or "none".
template <class M>
std::string rule_of(const M& request) {
  const Status checked = check_request(request);
  return checked.ok() ? "none" : checked.error().to_string();
}

}  // namespace cascade::wire::testing
