// A door's ways to the scheduler, and to the other models, when its clients are of several tenants:
// a port for each.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "actors/peer_watch.h"
#include "actors/worker.h"
#include "actors/zmq_port.h"

namespace cascade {

// One thread: that of the io_context.
class TenantPorts {
 public:
  // The default model's scheduler, or whoever has the other models.
  enum class Upstream { kScheduler, kModels };

  // Greets it, or will once it listens. Throws std::runtime_error.
  TenantPorts(asio::io_context& io, ZmqContext& context, Upstream upstream, Door door,
              const std::set<std::string>& tenants, uint64_t incarnation);

  bool contains(const std::string& tenant) const { return links_.contains(tenant); }

  // frames: [client][message…]; to models as for_models() makes them. False if the tenant has no
  // port, or the scheduler takes nothing.
  bool send(const std::string& tenant, const wire::Frames& frames);
  // What comes for the tenant's clients; an empty name of the client: for the door itself. nullopt
  // after close(). Precondition: contains(tenant). One coroutine a tenant.
  Task<std::optional<wire::Frames>> recv(const std::string& tenant);
  // Throws std::runtime_error when the scheduler is gone; returns after close().
  Task<> watch(const std::string& tenant);
  void close();

 private:
  struct Link {
    std::unique_ptr<ZmqPort> port;
    std::unique_ptr<PeerWatch> watch;
  };
  std::map<std::string, Link> links_;
};

}  // namespace cascade
