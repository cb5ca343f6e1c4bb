// The cascadectl policy commands: how long chunks live by default. Each returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "clients/cpp/client.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

int run_policy_list(client::Client& client, Screen& screen);
// Prints the new policies, as run_policy_list() does.
int run_policy_set(client::Client& client, Screen& screen, const wire::PolicySet& policy);

// One line for each type, including types that do not expire. Pure.
std::string render_policies(const std::vector<wire::ExpiryPolicy>& policies, const Style& style);

}  // namespace cascade::ctl
