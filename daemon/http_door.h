// The HTTP gateway of the daemon: opened before the model is loaded, so that clients hear that it
// is being loaded.
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
  // nullptr without --http and an inherited socket. `inherited`: sockets that listen already, which
  // it takes; HTTP is served at one place only. `connections_max`: at once. `context` outlives it.
  // `start` tells how far the load is.
  // Errors name the option, or LISTEN_FDS: an address that is none or beyond this machine without
  // keys, or that cannot be bound; a file of keys that cannot be read, is malformed or has none.
  static Result<std::unique_ptr<HttpDoor>> open(const DaemonOptions& options,
                                                std::vector<int> inherited, size_t connections_max,
                                                ZmqContext& context,
                                                std::shared_ptr<const ServiceStart> start);
  // The number of tenants in the file of --http-keys; 0 if it cannot be read: open() says why.
  static size_t count_key_tenants(const DaemonOptions& options);
  // Waits for its thread: the scheduler has stopped, or there never was one.
  ~HttpDoor();
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

  // From now on the keys of the file hold; "" for none. Any thread.
  // Errors, as open(): the keys are as they were.
  Status reload_keys(const std::string& file);

  // `on_serving` is called once requests are answered, on another thread, and again after a
  // restart. Before the scheduler is started.
  void when_serving(std::function<void()> on_serving);

  // From now on it is not started again.
  void stop_restarting() { supervisor_.stop_restarting(); }
  // It could not go on; the process was asked to stop.
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
