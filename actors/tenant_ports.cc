// DEALERs whose names tell the scheduler their door and tenant.
#include "actors/tenant_ports.h"

#include <stdexcept>

#include "actors/client_queue.h"

namespace cascade {
namespace {

// Deltas of every running request may be on their way at once.
constexpr int kPortMessagesMax = 100'000;

}  // namespace

bool TenantPorts::add(const std::string& tenant) {
  if (closed_ || links_.contains(tenant)) return false;
  const bool to_models = upstream_ == Upstream::kModels;
  const std::string name = door_name(door_, tenant);
  ZmqPort::Options options;
  options.type = ZMQ_DEALER;
  options.routing_id = name;
  options.queue_messages_max = kPortMessagesMax;
  Link link;
  link.port = std::make_unique<ZmqPort>(io_, context_, options);
  link.watch = std::make_unique<PeerWatch>(io_, context_, *link.port);
  const Status connected = link.port->connect(to_models ? kModelsEndpoint : kSchedulerEndpoint);
  if (!connected.ok()) throw std::runtime_error(connected.error().to_string());
  wire::Frames hello = *wire::encode({{}, wire::ActorHello{name, incarnation_}});
  hello.insert(hello.begin(), "");
  link.port->send(to_models ? for_models("", std::move(hello)) : hello);
  links_.emplace(tenant, std::move(link));
  return true;
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
  closed_ = true;
  for (auto& [tenant, link] : links_) {
    link.watch->close();
    link.port->close();
  }
}

}  // namespace cascade
