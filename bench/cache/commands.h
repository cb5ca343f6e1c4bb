// cascade-bench cache: what eviction policies save on traces of requests.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::speed {

// Lists are as they stand on the command line, split at commas.
struct CacheOptions {
  std::vector<std::string> traces;
  std::vector<std::string> policies;
  std::vector<std::string> capacities;  // "5%" of the trace's different pages, or pages
  bool json = false;
};

// A row for each trace, capacity and policy. Errors: as read_trace; kInvalidArgument with the
// option.
Status cache(const CacheOptions& options);

}  // namespace cascade::speed
