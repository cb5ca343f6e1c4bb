// DEALERs whose names tell the scheduler door and tenant.
#include "actors/tenant_ports.h"

#include <stdexcept>

#include "actors/client_queue.h"

namespace cascade {
namespace {

// Deltas of every running request may be under way at once.
constexpr int kQueueMessagesMax = 100'000;

}  // namespace

TenantPorts::TenantPorts(asio::io_context& io, ZmqContext& context, Upstream upstream, Door door,
                         const std::set<std::string>& tenants, uint64_t incarnation) {
  const bool to_models = upstream == Upstream::kModels;
  for (const std::string& tenant : tenants) {
    const std::string name = door_name(door, tenant);
    ZmqPort::Options options;
    options.type = ZMQ_DEALER;
    options.routing_id = name;
    options.queue_messages_max = kQueueMessagesMax;
    Link& link = links_[tenant];
    link.port = std::make_unique<ZmqPort>(io, context, options);
    link.watch = std::make_unique<PeerWatch>(io, context, *link.port);
    const Status connected = link.port->connect(to_models ? kModelsEndpoint : kSchedulerEndpoint);
    if (!connected.ok()) throw std::runtime_error(connected.error().to_string());
    wire::Frames hello = wire::encode({{}, wire::ActorHello{name, incarnation}});
    hello.insert(hello.begin(), "");
    link.port->send(to_models ? for_models("", std::move(hello)) : hello);
  }
}

bool TenantPorts::send(const std::string& tenant, const wire::Frames& frames) {
  const auto link = links_.find(tenant);
  return link != links_.end() && link->second.port->send(frames) == SendResult::kSent;
}

Task<std::optional<wire::Frames>> TenantPorts::recv(const std::string& tenant) {
  return links_.at(tenant).port->recv();
}

Task<> TenantPorts::watch(const std::string& tenant) {
  return links_.at(tenant).watch->run();
}

void TenantPorts::close() {
  for (auto& [tenant, link] : links_) {
    link.watch->close();
    link.port->close();
  }
}

}  // namespace cascade
