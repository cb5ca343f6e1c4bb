// The connections of a door to the scheduler, and to the other models, when its clients are of
// several tenants: a port for each tenant.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/peer_watch.h"
#include "actors/worker.h"
#include "actors/zmq_port.h"

namespace cascade {

// Used on one thread: that of the io_context.
class TenantPorts {
 public:
  // The default model's scheduler, or the keeper of the other models.
  enum class Upstream { kScheduler, kModels };

  TenantPorts(asio::io_context& io, ZmqContext& context, Upstream upstream, Door door,
              uint64_t incarnation)
      : io_(io), context_(context), upstream_(upstream), door_(door), incarnation_(incarnation) {}

  // Opens the tenant's port and greets upstream, now or once upstream listens. False if the tenant
  // has a port already, or after close(). Throws std::runtime_error if no socket or descriptor is
  // left.
  bool add(const std::string& tenant);

  // frames: [client][message…]; those to models as for_models() makes them. False if the tenant has
  // no port, or upstream takes nothing.
  bool send(const std::string& tenant, const wire::Frames& frames);
  // The next message for a client of the tenant; an empty client name means that it is for the door
  // itself. nullopt after close(). Precondition: the tenant was added. One coroutine per tenant.
  Task<std::optional<wire::Frames>> recv(const std::string& tenant);
  // Throws std::runtime_error when the scheduler has ended; returns after close(). Precondition:
  // the tenant was added.
  Task<> watch(const std::string& tenant);
  void close();

 private:
  struct Link {
    std::unique_ptr<ZmqPort> port;
    std::unique_ptr<PeerWatch> watch;
  };

  asio::io_context& io_;
  ZmqContext& context_;
  const Upstream upstream_;
  const Door door_;
  const uint64_t incarnation_;
  std::map<std::string, Link> links_;  // by tenant
  bool closed_ = false;
};

}  // namespace cascade
