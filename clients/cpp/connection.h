// One ZeroMQ DEALER connection to the daemon: messages out and in, with a limit on every wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "wire/frames.h"

namespace cascade::client {

// Times are in milliseconds. Tests use shorter ones.
struct ClientOptions {
  int64_t timeout_ms = 5'000;  // for connecting and for every answer but a generation's
  // After this much silence of a generation the client asks with a Ping. The daemon sends Progress
  // every second.
  int64_t silence_ms = 10'000;
  // A generation is lost if it sends nothing for this long although the daemon answers.
  int64_t lost_ms = 60'000;
  // The interval of ZeroMQ's own heartbeats, and how long the other side may be silent.
  int32_t heartbeat_interval_ms = 5'000;
  int32_t heartbeat_timeout_ms = 15'000;
  // For tcp:// endpoints, which accept only clients with keys: the daemon's public key, and the
  // file with the client's own key pair (cascadectl key new --curve). Empty means
  // $CASCADE_SERVER_KEY and $CASCADE_KEY_FILE.
  std::string server_key = {};
  std::string key_file = {};
  // The model for all requests; empty means the daemon's default model. The first request that
  // needs a model which is not loaded loads it.
  std::string model = {};
  // A client that connects while the daemon loads its model waits for it, within timeout_ms. If
  // this is set, it decides how long the client waits. It is called each time the daemon says how
  // far the load is, and returns whether to go on waiting; it is called with nullptr when the wait
  // is over. It runs on the thread of the call that connects. Any call may connect, because a lost
  // connection is made again.
  std::function<bool(const wire::Loading*)> on_loading = {};
};

// Used by one thread. Every error of this class is unreachable() (endpoint.h): the connection can
// no longer be used.
class Connection {
 public:
  // Connects in the background: only an answer shows that a daemon is there. Further errors:
  // kInvalidArgument if `endpoint` is not an endpoint, if it needs keys (fields "server_key",
  // "key_file"), or if no model can have the name (field "model").
  static Result<std::unique_ptr<Connection>> open(const std::string& endpoint,
                                                  const ClientOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits up to options.timeout_ms if the queue to the daemon is full.
  Status send(const wire::RequestId& request, wire::Message message);

  // The next message, or nothing if none came within `wait_ms` or a signal interrupted the wait.
  // Error if the connection broke, or if a message came that is not of this protocol.
  Result<std::optional<wire::Envelope>> receive(int64_t wait_ms);

  // Drops the messages that are not sent yet; otherwise whoever listens there next would get them.
  void abandon();

 private:
  struct Sockets;
  Connection(std::unique_ptr<Sockets> sockets, std::string model);
  std::unique_ptr<Sockets> sockets_;
  const std::string model_;
};

// 16 random bytes.
wire::RequestId new_request_id();

}  // namespace cascade::client
