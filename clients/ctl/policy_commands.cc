// The policy commands.
#include "clients/ctl/policy_commands.h"

#include <algorithm>

#include "clients/ctl/json_fields.h"
#include "clients/ctl/run.h"
#include "clients/ctl/table.h"
#include "clients/ctl/units.h"

namespace cascade::ctl {
namespace {

int print_policies(Screen& screen, const Result<std::vector<wire::ExpiryPolicy>>& policies) {
  if (!policies.ok()) {
    print_error(screen, policies.error());
    return exit_code_of(policies.error());
  }
  if (screen.json) {
    OrderedJson object = to_json_object(wire::PolicyReply{*policies});
    object.erase("durable");  // describes a change only
    print_json(screen, object);
  } else {
    screen.out << render_policies(*policies, screen.style) << std::flush;
  }
  return kExitOk;
}

}  // namespace

std::string render_policies(const std::vector<wire::ExpiryPolicy>& policies, const Style& style) {
  std::vector<std::vector<Cell>> rows;
  for (const ChunkType type : kChunkTypes) {
    const auto policy = std::ranges::find(policies, type, &wire::ExpiryPolicy::type);
    rows.push_back({{std::string(to_string(type))},
                    {policy == policies.end() ? "never" : "after " + format_ttl(policy->ttl_ms)}});
  }
  return render_table({{"Type"}, {"Expires"}}, rows, style);
}

int run_policy_list(client::Client& client, Screen& screen) {
  return print_policies(screen, client.expiry_policies());
}

int run_policy_set(client::Client& client, Screen& screen, const wire::PolicySet& policy) {
  return print_policies(screen, client.set_expiry_policy(policy.type, policy.ttl_ms));
}

}  // namespace cascade::ctl
