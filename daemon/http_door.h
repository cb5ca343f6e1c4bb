// The HTTP gateway of the daemon. It opens before the model is loaded, so that clients can be told
// that the model is being loaded.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/http/http_actor.h"
#include "actors/supervisor.h"
#include "daemon/options.h"

namespace cascade {

class HttpDoor {
 public:
  // Returns nullptr if there is neither --http nor an inherited socket. `inherited`: sockets that
  // already listen, which this takes over; HTTP is served at one place only. `connections_max`: the
  // largest number of connections at once. `context` outlives the door. `start` has the progress of
  // the load. Errors name the option, or LISTEN_FDS: an address that is malformed, cannot be bound,
  // or can be reached from other machines without keys; a file of keys that cannot be read, is
  // malformed or has no key.
  static Result<std::unique_ptr<HttpDoor>> open(const DaemonOptions& options,
                                                std::vector<int> inherited, size_t connections_max,
                                                ZmqContext& context,
                                                std::shared_ptr<const ServiceStart> start);
  // The number of tenants in the file of --http-keys; 0 if it cannot be read: open() reports why.
  static size_t count_key_tenants(const DaemonOptions& options);
  // Waits for the gateway's thread. Precondition: the scheduler has stopped, or there never was
  // one.
  ~HttpDoor();
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

  // From now on the keys of `file` are valid; "" for no keys. Any thread. Errors, as open(): the
  // keys stay as they were.
  Status reload_keys(const std::string& file);

  // `on_serving` is called once requests are answered, on another thread, and again after a
  // restart. Call this before the scheduler is started.
  void when_serving(std::function<void()> on_serving);

  // From now on the gateway is not started again.
  void stop_restarting() { supervisor_.stop_restarting(); }
  // Whether the gateway could not go on; the process was then asked to stop.
  bool failed() const { return failed_; }

 private:
  HttpDoor(ZmqContext& context, HttpListener listener, HttpOptions options);

  ZmqContext& context_;
  const HttpListener listener_;
  HttpOptions options_;
  std::mutex mutex_;
  std::function<void()> on_serving_;
  std::atomic<bool> failed_{false};
  Supervisor supervisor_;
};

}  // namespace cascade
