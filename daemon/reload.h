// The changes that a new reading of the settings makes in a running service.
#pragma once

#include <string>
#include <vector>

#include "daemon/options.h"

namespace cascade {

struct ReloadPlan {
  DaemonOptions options;             // as the service runs from now on
  std::vector<std::string> applied;  // settings that change, for people: flag and where it was set
  std::vector<std::string> refused;  // settings that have changed, and need a restart
};

// `running`: the settings that the service was started with or reloaded last; `read`: settings
// without errors.
ReloadPlan plan_reload(const ParsedOptions& running, const ParsedOptions& read);

}  // namespace cascade
