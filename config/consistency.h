// What settings must be together, and what they may take of the place where they hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"

namespace cascade::config {

// Where a process stands that settings are checked for.
struct Place {
  std::string run_dir;  // if they give none
  // It has, or may get, the HTTP socket from the service manager: the address is not needed then.
  bool inherits_sockets = false;
  // The most that the process can have, K and V included; 0: it is not known.
  int64_t memory_bytes = 0;
};

// What is wrong with values that are each taken by check(): a model that is missing, names and
// number of tenants, addresses and endpoints, settings that need another one, texts that may not be
// empty, more memory than there is. All of it, the fields being the origins.
std::vector<Error> find_contradictions(const Values& values, const Place& place);

}  // namespace cascade::config
