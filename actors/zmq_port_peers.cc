// Which peers of a ROUTER are gone. ZeroMQ tells that a connection has ended, and of each message
// on which connection it came, both by the connection's file descriptor.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "actors/zmq_port.h"
#include "base/check.h"

namespace cascade {
namespace {

std::string monitor_endpoint() {
  static std::atomic<int> count{0};
  return "inproc://monitor_" + std::to_string(++count);
}

}  // namespace

// zmq_socket_monitor(3): 16 bits say what happened, 32 on which connection.
void ZmqPort::take_event(const wire::Frame& event) {
  uint16_t what = 0;
  int32_t descriptor = -1;
  CHECK(event.size() == sizeof what + sizeof descriptor);
  std::memcpy(&what, event.data(), sizeof what);
  std::memcpy(&descriptor, event.data() + sizeof what, sizeof descriptor);
  const std::string connection = std::to_string(descriptor);
  end_peers(connection);
  if (what == ZMQ_EVENT_ACCEPTED) {
    connections_.insert(connection);
  } else {
    connections_.erase(connection);
  }
}

void ZmqPort::end_peers(const std::string& connection) {
  const auto [begin, end] = peers_of_.equal_range(connection);
  for (auto peer = begin; peer != end; ++peer) gone_.push_back(peer->second);
  peers_of_.erase(begin, end);
}

// A descriptor is used again as soon as it is closed. What happened to it before a message was sent
// on it has been told when the message is there: the events up to then come first. But a message
// may be read when its connection has ended and another one has the descriptor: of two peers of one
// descriptor it is not known which is the one that is gone, so both are until it ends.
void ZmqPort::note_connection(const char* connection, const std::string& peer) {
  if (connection == nullptr) return;
  while (const auto event = monitor_->try_recv()) take_event(event->front());
  if (!connections_.contains(connection)) {
    gone_.push_back(peer);  // it ended before its message was read
    return;
  }
  const auto [begin, end] = peers_of_.equal_range(connection);
  const bool known = std::any_of(begin, end, [&](const auto& p) { return p.second == peer; });
  if (!known) peers_of_.emplace(connection, peer);
}

void ZmqPort::report_gone() {
  for (const std::string& peer : std::exchange(gone_, {})) on_gone_(peer);
}

void ZmqPort::start_monitor(ZmqContext& context) {
  const std::string endpoint = monitor_endpoint();
  if (zmq_socket_monitor(socket_.get(), endpoint.c_str(),
                         ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED) != 0) {
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
    // All of them at once: note_connection() takes those that are left, which come behind these.
    while (const auto event = monitor_->try_recv()) take_event(event->front());
    // What the peer sent before is there, and goes first; then recv() reports.
    if (!readable()) report_gone();
  }
}

}  // namespace cascade
