// The requests that a door's clients wait for, and the answers that they have not fetched yet, up
// to a limit for each client.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

#include "actors/zmq_port.h"

namespace cascade {

// Used on one thread: that of the port's io_context.
class ClientQueue {
 public:
  // `clients`: a ROUTER that watches its peers; outlives the queue. `on_gone` is called with the
  // name of a client that cannot be reached any more, or that left more unread than is kept for it.
  ClientQueue(asio::io_context& io, ZmqPort& clients,
              std::function<void(const std::string&)> on_gone);

  // Notes that the client has asked for something: it is busy until its last reply is delivered.
  void expect(const std::string& client, const wire::RequestId& request);
  // Sends the message now, or in order when the client reads again. frames: [client][message…].
  void deliver(wire::Frames frames);
  // Drops everything that waits for the client.
  void forget(const std::string& client);

  // Sends what waits; returns after close().
  Task<> run();
  // Returns when nothing waits, or after about a second.
  Task<> drain();
  void close();

 private:
  struct Pending {
    std::deque<wire::Frames> messages;
    size_t bytes = 0;
  };
  void note_reply(const std::string& client, std::span<const wire::Frame> message);
  bool send_pending(const std::string& client, Pending& pending);

  asio::io_context& io_;
  ZmqPort& clients_;
  const std::function<void(const std::string&)> on_gone_;
  asio::steady_timer retry_;
  std::map<std::string, std::set<wire::RequestId>> open_;  // requests to be answered, by client
  std::map<std::string, Pending> pending_;
  bool closed_ = false;
};

// How long sockets of clients, and drain(), wait for clients to take their last answers, in
// milliseconds.
inline constexpr int kClientLingerMs = 1000;

// Returns the type number of a message, which was checked or was made by this daemon.
size_t type_of(std::span<const wire::Frame> message);

// Tells what to do with a client's message.
struct Admission {
  std::optional<wire::Frames> refusal;  // an answer to send at once
  // The receiver if there is no refusal: the default model's scheduler or, with `to_models`, the
  // other end of kModelsEndpoint. That is another model (`model` is its name) or the keeper of the
  // models (`model` is empty).
  bool to_models = false;
  std::string model;
};
// Decides what to do with `message`, which is without the client's name.
Admission admit(std::span<const wire::Frame> message, const std::string& default_model);
// Makes a message to kModelsEndpoint. frames: [client][message…].
wire::Frames for_models(const std::string& model, wire::Frames frames);
// The answer to a message that the scheduler did not take.
wire::Frames scheduler_not_ready(std::span<const wire::Frame> message);

}  // namespace cascade
