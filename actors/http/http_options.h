// The settings that the daemon gives the HTTP gateway.
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
  // If keys are not asked for, everybody is the tenant "local". May be replaced while the gateway
  // serves.
  std::shared_ptr<Live<http::ApiKeys>> keys = std::make_shared<Live<http::ApiKeys>>();
  http::HostRules hosts;
  std::map<std::string, std::string> model_aliases;  // alias to name
  // The progress of the load, for clients that come before the scheduler serves.
  std::shared_ptr<const ServiceStart> start = std::make_shared<ServiceStart>();
  // Called on the gateway's thread when it begins to answer requests, and again after a restart.
  std::function<void()> on_serving = [] {};
  HttpLimits limits;
};

}  // namespace cascade
