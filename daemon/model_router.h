// The way to models other than the default one. Passes the messages that the doors send to
// kModelsEndpoint on to the schedulers of these models, passes the answers back, and has the models
// loaded. Also answers questions about models.
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "actors/peer_watch.h"
#include "actors/zmq_port.h"
#include "cache/tenant_parts.h"
#include "daemon/model_keeper.h"
#include "wire/messages.h"

namespace cascade {

// Has a thread of its own. It keeps the doors apart: each host has a port for every door that has
// asked it for something. The port has the name by which the default model's scheduler knows the
// door.
class ModelRouter {
 public:
  // `context` is the one of the doors. All references outlive this object. `on_failure(why)`: the
  // router cannot go on; on its thread.
  ModelRouter(ZmqContext& context, const DaemonOptions& options, const ModelHost& default_host,
              Compute& compute, Health& health,
              std::function<void(const std::string& why)> on_failure);
  // Precondition: end() was called, or start() was not.
  ~ModelRouter();
  ModelRouter(const ModelRouter&) = delete;
  ModelRouter& operator=(const ModelRouter&) = delete;

  // Throws std::runtime_error if it cannot listen.
  void start();

  // Gives all hosts these limits. Any thread.
  void set_limits(const DaemonOptions& options);

  // Refuses requests from now on, and unloads all models in good order; blocks until that is done.
  // Returns true if a model is still being loaded: that thread ends only with the process.
  bool stop();
  // Call it after stop(), when the doors have ended.
  void end();

 private:
  // A request of a client.
  struct Requester {
    std::string door;
    std::string client;
    wire::RequestId request{};
    auto operator<=>(const Requester&) const = default;
  };
  // A message that waits for a model.
  struct Waiting {
    Requester from;
    wire::Frames frames;  // [client][message…]
    bool wants_progress = false;
  };
  // The connection of a door to a host.
  struct Port {
    std::unique_ptr<ZmqPort> port;
    std::unique_ptr<PeerWatch> watch;
  };
  struct Line {
    std::map<std::string, std::shared_ptr<Port>> ports;  // by door
    std::set<Requester> open;                            // requests that the host has
    std::deque<Waiting> waiting;
  };

  void run();
  Task<> receive();
  Task<> tick();
  void take(wire::Frames frames);
  void greet(const std::string& door);
  void forget(const std::string& door, const std::string& client);
  void route(const std::string& model, Requester from, wire::Frames frames);
  void look_for(const std::string& model, Requester from, wire::Frames frames);
  void wait_for(const std::string& model, Requester from, wire::Frames frames);
  void control(const std::string& model, Requester from, wire::Frames frames);
  void forward(const std::string& model, const Requester& from, const wire::Frames& frames);
  std::shared_ptr<Port> port_to(const std::string& model, const std::string& door);
  Task<> from_host(std::string model, std::string door, std::shared_ptr<Port> port);
  Task<> watch_host(std::string model, std::string door, std::shared_ptr<Port> port);
  void take_answer(const std::string& model, const std::string& door, wire::Frames frames);
  void fail_open(const std::string& model, const std::string& door);
  void close_port(Port& port);
  bool about_models(const Requester& from, std::span<const wire::Frame> message);
  void list_models(const Requester& from);
  void load_model(const Requester& from, const wire::ModelLoad& request);
  void unload_model(const Requester& from, const wire::ModelUnload& request);
  void answer_info(const Requester& from, const std::string& model);
  bool may_change(const Requester& from);
  Error no_such_model(const std::string& model) const;
  static Error cannot_load(const Requester& to, const std::string& model, const Error& why);
  static Error of_files(Error why);
  void serve_waiting(const std::string& model);
  void refuse_waiting(const std::string& model, const Error& error);
  void host_ended(const std::string& model);
  void answer(const Requester& to, wire::Message message);
  void refuse(const Requester& to, Error error, int64_t retry_after_ms = 0);
  void send(const std::string& door, wire::Frames frames);

  ZmqContext& context_;
  const std::function<void(const std::string&)> on_failure_;
  asio::io_context io_{1};
  std::unique_ptr<ZmqPort> doors_;
  asio::steady_timer timer_{io_};
  std::map<std::string, Line> lines_;
  TenantParts looked_for_;  // requests that wait for a look into the models directory
  bool stopping_ = false;
  bool ended_ = false;
  ModelKeeper keeper_;
  std::thread thread_;
};

}  // namespace cascade
