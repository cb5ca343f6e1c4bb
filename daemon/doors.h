// The entries for ZeroMQ clients: a gateway for each tenant's socket, and one for TCP. They open
// before the model is loaded, so that clients can be told that it is being loaded.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/service_start.h"
#include "actors/supervisor.h"
#include "actors/tcp_gateway_actor.h"
#include "daemon/descriptor_plan.h"
#include "daemon/inherited_sockets.h"
#include "daemon/options.h"
#include "daemon/run_dir.h"

namespace cascade {

// The endpoints where clients connect; that of the tenant "local" is the first.
std::vector<std::string> endpoints_of(const DaemonOptions& options);

class Doors {
 public:
  struct Hooks {
    // Called when clients of all gateways can connect; on a gateway's thread, and again if a
    // gateway had to be restarted.
    std::function<void()> on_open;
    // Called when a gateway failed too often; on its thread.
    std::function<void(const std::string& name, const std::string& why)> on_failure;
  };
  // `sockets`: the sockets that the process inherited; they and `context` outlive this object.
  // `tcp`: nullopt for none. `descriptors`: how many connections each gateway takes. Nothing is
  // bound yet.
  Doors(ZmqContext& context, const DaemonOptions& options, const InheritedSockets& sockets,
        std::optional<CurveDoor> tcp, const DescriptorPlan& descriptors,
        std::shared_ptr<const ServiceStart> start, Hooks hooks);
  // Precondition: join() was called, unless start() never was.
  ~Doors() = default;
  Doors(const Doors&) = delete;
  Doors& operator=(const Doors&) = delete;

  // Errors: as SocketFile::check_free(), for any of the sockets.
  Status check_free() const;

  // Binds the sockets, each on a thread of its own.
  void start();

  // nullptr: there is no TCP.
  const CurveDoor* tcp() const { return tcp_ ? &*tcp_ : nullptr; }

  // From now on a gateway that fails is not started again.
  void stop_restarting() { gateways_.stop_restarting(); }
  // Waits until all gateways have ended, and removes the files of their sockets.
  void join();

 private:
  // A socket for a tenant's clients, and the one for its events.
  struct Door {
    std::string tenant;
    std::string endpoint;
    int inherited = -1;               // a descriptor; -1: none
    std::vector<SocketFile> files{};  // the socket files that this process makes
  };

  void start_gateway(Door& door);
  void is_open(const std::string& name, Door* door);

  ZmqContext& context_;
  std::optional<CurveDoor> tcp_;
  const DescriptorPlan descriptors_;
  const std::shared_ptr<const ServiceStart> start_;
  const Hooks hooks_;
  std::vector<Door> doors_;
  std::mutex mutex_;            // guards the members below, and the doors' files
  std::set<std::string> open_;  // the names of gateways whose clients can connect
  Supervisor gateways_;
};

}  // namespace cascade
