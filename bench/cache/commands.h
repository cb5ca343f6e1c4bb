// cascade-bench cache: how much eviction policies save on traces of requests.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::speed {

// Lists are split at commas, but otherwise as on the command line.
struct CacheOptions {
  std::vector<std::string> traces;
  std::vector<std::string> policies;
  std::vector<std::string> capacities;  // "5%" of the trace's different pages, or a number of pages
  bool json = false;
};

// Reports one row for each trace, capacity and policy. Errors: those of read_trace;
// kInvalidArgument with the option.
Status cache(const CacheOptions& options);

}  // namespace cascade::speed
