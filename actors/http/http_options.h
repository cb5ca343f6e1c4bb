// What the HTTP gateway is told by the daemon.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "actors/http/connection.h"
#include "wire/http/api_keys.h"
#include "wire/http/host_rules.h"

namespace cascade {

// The keys that hold now: they may be replaced while requests are checked. Any thread.
class LiveKeys {
 public:
  std::shared_ptr<const http::ApiKeys> get() const { return keys_.load(); }
  void set(http::ApiKeys keys) {
    keys_.store(std::make_shared<const http::ApiKeys>(std::move(keys)));
  }

 private:
  std::atomic<std::shared_ptr<const http::ApiKeys>> keys_ = std::make_shared<const http::ApiKeys>();
};

struct HttpOptions {
  // None: everybody is the tenant "local". The gateway serves the tenants that have a key when it
  // starts; a key of another tenant, set later, is refused.
  std::shared_ptr<LiveKeys> keys = std::make_shared<LiveKeys>();
  http::HostRules hosts;
  // Called on the gateway's thread when requests are first answered, again after a restart.
  std::function<void()> on_serving = [] {};
  HttpLimits limits;
};

}  // namespace cascade
