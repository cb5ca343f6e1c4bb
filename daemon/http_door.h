// The HTTP gateway of the daemon: opened before the model is loaded, so that clients hear that it
// is being loaded.
#pragma once

#include <atomic>
#include <memory>

#include "actors/http/http_actor.h"
#include "actors/supervisor.h"
#include "daemon/options.h"

namespace cascade {

class HttpDoor {
 public:
  // nullptr without --http. `context` outlives it.
  // Errors name the option: an address that is none or beyond this machine without keys, or that
  // cannot be bound; a file of keys that cannot be read, is malformed or has none.
  static Result<std::unique_ptr<HttpDoor>> open(const DaemonOptions& options, ZmqContext& context);
  // Waits for its thread: the scheduler has stopped, or there never was one.
  ~HttpDoor();
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

  // From now on it is not started again.
  void stop_restarting() { supervisor_.stop_restarting(); }
  // It could not go on; the process was asked to stop.
  bool failed() const { return failed_; }

 private:
  HttpDoor(ZmqContext& context, HttpListener listener, HttpOptions options);

  ZmqContext& context_;
  const HttpListener listener_;
  const HttpOptions options_;
  std::atomic<bool> failed_{false};
  Supervisor supervisor_;
};

}  // namespace cascade
