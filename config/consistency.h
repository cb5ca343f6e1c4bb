// Checks that the settings agree with each other and with the place where they are used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"

namespace cascade::config {

// The surroundings of the process whose settings are checked.
struct Place {
  std::string run_dir;  // if the settings give none
  // Whether the process has, or may get, the HTTP socket from the service manager: then the address
  // is not needed.
  bool inherits_sockets = false;
  // The most memory that the process can have, K and V included; 0: not known.
  int64_t memory_bytes = 0;
};

// Finds all errors in values that check() accepts one by one: a missing model, names and number of
// tenants, addresses and endpoints, settings that need another one, texts that may not be empty,
// more memory than the place has. The fields of the errors are the origins.
std::vector<Error> find_contradictions(const Values& values, const Place& place);

}  // namespace cascade::config
