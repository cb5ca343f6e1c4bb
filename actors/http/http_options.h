// What the HTTP gateway is told by the daemon.
#pragma once

#include <string>

#include "actors/http/connection.h"
#include "wire/http/api_keys.h"
#include "wire/http/host_rules.h"

namespace cascade {

struct HttpOptions {
  http::ApiKeys keys;  // none: everybody is the tenant "local"
  http::HostRules hosts;
  HttpLimits limits;
};

}  // namespace cascade
