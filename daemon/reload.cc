// The table says which settings may change; this file has the options that they change.
#include "daemon/reload.h"

namespace cascade {

ReloadPlan plan_reload(const ParsedOptions& running, const ParsedOptions& read) {
  ReloadPlan plan;
  plan.options = running.options;
  const DaemonOptions& from = read.options;
  plan.options.http_keys_file = from.http_keys_file;
  plan.options.tcp_clients_file = from.tcp_clients_file;
  plan.options.think_policy = from.think_policy;
  plan.options.heal = from.heal;
  plan.options.max_pinned = from.max_pinned;
  plan.options.chunk_memory_ratio = from.chunk_memory_ratio;
  plan.options.requests_waiting_max = from.requests_waiting_max;
  plan.options.tokens_waiting_max = from.tokens_waiting_max;
  plan.options.requests_running_max = from.requests_running_max;
  plan.options.max_tokens_default = from.max_tokens_default;
  plan.options.stop_timeout_s = from.stop_timeout_s;
  plan.options.log_level = from.log_level;
  const auto changes = config::changes(running.configuration.values, read.configuration.values);
  for (const config::Change& change : changes) {
    const std::string where = change.origin.empty() ? "the default again" : change.origin;
    (change.setting->reloads ? plan.applied : plan.refused)
        .push_back(flag_of(*change.setting) + " (" + where + ")");
  }
  return plan;
}

}  // namespace cascade
