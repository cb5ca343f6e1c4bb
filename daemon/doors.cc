// A socket's file is remembered as soon as it exists, so that it is also removed if the daemon is
// stopped while it loads.
#include "daemon/doors.h"

#include "actors/gateway_actor.h"
#include "actors/worker.h"
#include "base/clock.h"
#include "base/endpoint.h"
#include "base/tenant.h"
#include "wire/events_endpoint.h"

namespace cascade {
namespace {

constexpr char kTcpName[] = "tcp";

}  // namespace

std::vector<std::string> endpoints_of(const DaemonOptions& options) {
  std::vector<std::string> endpoints = {options.endpoint};
  for (const std::string& tenant : options.tenants) {
    endpoints.push_back(tenant_endpoint(options.run_dir, tenant));
  }
  return endpoints;
}

Doors::Doors(ZmqContext& context, const DaemonOptions& options, const InheritedSockets& sockets,
             std::optional<CurveDoor> tcp, const DescriptorPlan& descriptors,
             std::shared_ptr<const ServiceStart> start, Hooks hooks)
    : context_(context),
      tcp_(std::move(tcp)),
      descriptors_(descriptors),
      start_(std::move(start)),
      hooks_(std::move(hooks)),
      gateways_(system_clock(), {}, hooks_.on_failure) {
  const std::vector<std::string> endpoints = endpoints_of(options);
  for (size_t i = 0; i < endpoints.size(); ++i) {
    const std::string& endpoint = endpoints[i];
    Door door = {i == 0 ? kLocalTenant : options.tenants[i - 1], endpoint,
                 sockets.find_ipc(endpoint).value_or(-1)};
    // An inherited socket belongs to the service manager.
    if (door.inherited < 0) door.files.emplace_back(endpoint);
    door.files.emplace_back(wire::events_endpoint(endpoint));
    doors_.push_back(std::move(door));
  }
}

Status Doors::check_free() const {
  for (const Door& door : doors_) {
    for (const SocketFile& file : door.files) RETURN_IF_ERROR(file.check_free());
  }
  return {};
}

void Doors::start() {
  if (tcp_) {
    gateways_.start(kTcpName, [this](uint64_t incarnation) {
      run_tcp_gateway(context_, *tcp_, incarnation, [this] { is_open(kTcpName, nullptr); });
    });
  }
  for (Door& door : doors_) start_gateway(door);
}

void Doors::start_gateway(Door& door) {
  const std::string name = door_name(cascade::Door::kIpc, door.tenant);
  gateways_.start(name, [this, name, &door](uint64_t incarnation) {
    const GatewayDoor way = {door.tenant,           start_,
                             door.endpoint,         wire::events_endpoint(door.endpoint),
                             descriptors_.ipc_each, descriptors_.events_each,
                             door.inherited};
    run_gateway(context_, way, incarnation, [this, &name, &door] { is_open(name, &door); });
  });
}

void Doors::is_open(const std::string& name, Door* door) {
  const std::lock_guard lock(mutex_);
  if (door != nullptr) {
    for (SocketFile& file : door->files) {
      file.remember();
      // Access to the sockets of the other tenants is granted by the person who runs the daemon.
      if (door->tenant == kLocalTenant) file.open_to_group();
    }
  }
  open_.insert(name);
  if (open_.size() == doors_.size() + (tcp_ ? 1 : 0)) hooks_.on_open();
}

void Doors::join() {
  gateways_.join();
  for (const Door& door : doors_) {
    for (const SocketFile& file : door.files) file.remove();
  }
}

}  // namespace cascade
