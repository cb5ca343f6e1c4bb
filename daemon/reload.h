// What a new reading of the settings changes in a service that runs.
#pragma once

#include <string>
#include <vector>

#include "daemon/options.h"

namespace cascade {

struct ReloadPlan {
  DaemonOptions options;             // as the service runs from now on
  std::vector<std::string> applied;  // settings that change, for people: flag and where it was set
  std::vector<std::string> refused;  // settings that have changed, and take a restart
};

// `running`: what the service was started with or reloaded last; `read`: good settings.
ReloadPlan plan_reload(const ParsedOptions& running, const ParsedOptions& read);

}  // namespace cascade
