// What the HTTP gateway is told by the daemon.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "actors/http/connection.h"
#include "actors/service_start.h"
#include "base/live.h"
#include "wire/http/api_keys.h"
#include "wire/http/host_rules.h"

namespace cascade {

struct HttpOptions {
  // Not asked for: everybody is the tenant "local". May be set while the gateway serves.
  std::shared_ptr<Live<http::ApiKeys>> keys = std::make_shared<Live<http::ApiKeys>>();
  http::HostRules hosts;
  std::map<std::string, std::string> model_aliases;  // other names of models, and the names
  // How far the load is, for clients that come before the scheduler serves.
  std::shared_ptr<const ServiceStart> start = std::make_shared<ServiceStart>();
  // Called on the gateway's thread when requests are first answered, again after a restart.
  std::function<void()> on_serving = [] {};
  HttpLimits limits;
};

}  // namespace cascade
