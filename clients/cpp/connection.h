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

// Milliseconds. Tests take shorter ones.
struct ClientOptions {
  int64_t timeout_ms = 5'000;  // for connecting and for every answer but a generation's
  // A generation that is silent for so long is asked after with a Ping. The daemon sends Progress
  // every second.
  int64_t silence_ms = 10'000;
  // A generation of which nothing came for so long although the daemon answers is lost.
  int64_t lost_ms = 60'000;
  // ZeroMQ's own heartbeats: how often, and how long the other side may be silent.
  int32_t heartbeat_interval_ms = 5'000;
  int32_t heartbeat_timeout_ms = 15'000;
  // Of tcp:// endpoints, which take clients with keys only: the daemon's public key, and the file
  // of the client's own pair (cascadectl key new --curve). Empty: $CASCADE_SERVER_KEY and
  // $CASCADE_KEY_FILE.
  std::string server_key = {};
  std::string key_file = {};
  // The model that all requests are meant for; empty: the daemon's default model. One that is not
  // loaded is loaded by the first request that needs it.
  std::string model = {};
  // A client that connects while the daemon loads its model waits for it, within timeout_ms. If
  // this is set, it decides how long the client waits. It is called each time the daemon says how
  // far the load is, and returns whether to go on waiting; it is called with nullptr when the wait
  // is over. It runs on the thread of the call that connects. Any call may connect, because a lost
  // connection is made again.
  std::function<bool(const wire::Loading*)> on_loading = {};
};

// One thread. Every error of this class is unreachable() (endpoint.h): the connection is of no
// further use.
class Connection {
 public:
  // Connects in the background: whether somebody is there shows when an answer comes.
  // Also kInvalidArgument: the endpoint is none, or needs keys (fields "server_key", "key_file"),
  // or no model can have the name (field "model").
  static Result<std::unique_ptr<Connection>> open(const std::string& endpoint,
                                                  const ClientOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits up to options.timeout_ms if the queue to the daemon is full.
  Status send(const wire::RequestId& request, wire::Message message);

  // The next message, or nothing if none came within `wait_ms` or a signal interrupted the wait.
  // Error if the connection broke, or if a message came that is none of the protocol.
  Result<std::optional<wire::Envelope>> receive(int64_t wait_ms);

  // What is not sent yet is dropped instead of being delivered to whoever comes next.
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
