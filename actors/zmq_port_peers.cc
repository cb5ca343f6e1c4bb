// Finds out which peers of a ROUTER have left. ZeroMQ reports the end of a connection, and the
// connection on which each message came; it names both by the connection's file descriptor.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "actors/zmq_port.h"
#include "base/check.h"

namespace cascade {
namespace {

// Stands for the tenant at a door where all clients are of one tenant.
constexpr char kOneTenant[] = "clients";

std::string monitor_endpoint() {
  static std::atomic<int> count{0};
  return "inproc://monitor_" + std::to_string(++count);
}

}  // namespace

// Takes all events that are there, at once: when a message is there, everything that happened
// before on its connection has been reported. In an event of zmq_socket_monitor(3), 16 bits say
// what happened and 32 bits on which connection. A connection that was turned away
// (ZMQ_EVENT_ACCEPT_FAILED) has no descriptor. Its event makes this port look for room again: there
// may be some by now.
void ZmqPort::take_events() {
  while (const auto frames = monitor_->try_recv()) {
    const wire::Frame& event = frames->front();
    uint16_t what = 0;
    int32_t connection = -1;
    CHECK(event.size() == sizeof what + sizeof connection);
    std::memcpy(&what, event.data(), sizeof what);
    std::memcpy(&connection, event.data() + sizeof what, sizeof connection);
    if (what == ZMQ_EVENT_ACCEPTED) guests_->accepted(connection);
    if (what == ZMQ_EVENT_DISCONNECTED) guests_->ended(connection);
  }
}

void ZmqPort::note_connection(const char* connection, const std::string& peer) {
  if (connection == nullptr) return;
  take_events();
  const std::string tenant = tenant_of_ ? tenant_of_(user_id_) : kOneTenant;
  guests_->heard(std::atoi(connection), peer, tenant);
  guests_->make_room();  // watch_peers() does not see events taken here
}

void ZmqPort::report_gone() {
  for (const std::string& peer : guests_->take_gone()) on_gone_(peer);
}

void ZmqPort::start_monitor(ZmqContext& context) {
  const std::string endpoint = monitor_endpoint();
  constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_ACCEPT_FAILED;
  if (zmq_socket_monitor(socket_.get(), endpoint.c_str(), kEvents) != 0) {
    throw std::runtime_error(std::string("zmq_socket_monitor: ") + zmq_strerror(zmq_errno()));
  }
  monitor_ = std::make_unique<ZmqPort>(io_, context, Options{.type = ZMQ_PAIR, .routing_id = {}});
  const Status connected = monitor_->connect(endpoint);
  if (!connected.ok()) throw std::runtime_error(connected.error().to_string());
}

Task<> ZmqPort::watch_peers(std::function<void(const std::string&)> on_gone) {
  on_gone_ = std::move(on_gone);
  while (true) {
    const bool ready = co_await monitor_->wait();
    if (!ready) co_return;
    take_events();
    guests_->make_room();
    // Messages that the peer sent before are there and come first; then recv() reports its end.
    if (!readable()) report_gone();
  }
}

}  // namespace cascade
