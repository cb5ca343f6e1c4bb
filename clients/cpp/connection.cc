// The DEALER socket, and beside it a monitor that reports when the connection breaks.
#include "clients/cpp/connection.h"

#include <array>
#include <cstring>
#include <zmq.hpp>

#include "base/random.h"
#include "clients/cpp/client_keys.h"
#include "clients/cpp/endpoint.h"
#include "wire/request_rules.h"

namespace cascade::client {
namespace {

constexpr const char* kMonitorEndpoint = "inproc://monitor";
// Long enough for a last CancelRequest to leave; nobody waits longer for a daemon that has ended.
constexpr int kLingerMs = 200;

Error zmq_failure(const zmq::error_t& error) {
  return unreachable(std::string("ZeroMQ: ") + error.what());
}

}  // namespace

struct Connection::Sockets {
  zmq::context_t context{1};
  zmq::socket_t dealer{context, zmq::socket_type::dealer};
  zmq::socket_t monitor{context, zmq::socket_type::pair};

  void set_options(const ClientOptions& options);
  void set_keys(const ClientKeys& keys);
  void connect(const std::string& endpoint);
  Result<std::optional<wire::Frames>> receive_frames();
  std::optional<Error> lost_connection();
};

void Connection::Sockets::set_options(const ClientOptions& options) {
  dealer.set(zmq::sockopt::linger, kLingerMs);
  dealer.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(wire::kMessageBytesMax));
  dealer.set(zmq::sockopt::sndtimeo, static_cast<int>(options.timeout_ms));
  dealer.set(zmq::sockopt::heartbeat_ivl, options.heartbeat_interval_ms);
  dealer.set(zmq::sockopt::heartbeat_timeout, options.heartbeat_timeout_ms);
  dealer.set(zmq::sockopt::handshake_ivl, static_cast<int>(options.timeout_ms));
  monitor.set(zmq::sockopt::linger, 0);
}

void Connection::Sockets::set_keys(const ClientKeys& keys) {
  dealer.set(zmq::sockopt::curve_serverkey, keys.server_key);
  dealer.set(zmq::sockopt::curve_publickey, keys.own.public_key);
  dealer.set(zmq::sockopt::curve_secretkey, keys.own.secret_key);
}

void Connection::Sockets::connect(const std::string& endpoint) {
  constexpr int kEvents = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
  if (zmq_socket_monitor(dealer.handle(), kMonitorEndpoint, kEvents) != 0) {
    throw zmq::error_t();
  }
  monitor.connect(kMonitorEndpoint);
  dealer.connect(endpoint);
}

// One message with all its frames, or nothing if none has arrived.
Result<std::optional<wire::Frames>> Connection::Sockets::receive_frames() {
  wire::Frames frames;
  size_t bytes = 0;
  for (bool more = true; more;) {
    zmq::message_t part;
    if (!dealer.recv(part, zmq::recv_flags::dontwait)) return std::optional<wire::Frames>();
    bytes += part.size();
    if (frames.size() == wire::kFrameCountMax || bytes > wire::kMessageBytesMax) {
      return unreachable("the daemon sent a message beyond the limits of the protocol");
    }
    frames.emplace_back(part.data<char>(), part.size());
    more = part.more();
  }
  return std::optional<wire::Frames>(std::move(frames));
}

// The monitor's report: why the connection can no longer be used, or nothing.
std::optional<Error> Connection::Sockets::lost_connection() {
  zmq::message_t event;
  if (!monitor.recv(event, zmq::recv_flags::dontwait)) return std::nullopt;
  uint16_t kind = 0;
  if (event.size() >= sizeof kind) std::memcpy(&kind, event.data(), sizeof kind);
  return unreachable(kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
                         ? "the daemon does not know this client's key"
                         : "the connection to the daemon broke");
}

Connection::Connection(std::unique_ptr<Sockets> sockets, std::string model)
    : sockets_(std::move(sockets)), model_(std::move(model)) {}

Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const std::string& endpoint,
                                                     const ClientOptions& options) {
  if (!options.model.empty()) RETURN_IF_ERROR(wire::check_model_name("model", options.model));
  RETURN_IF_ERROR(probe_endpoint(endpoint));
  ASSIGN_OR_RETURN(const std::optional<ClientKeys> keys,
                   client_keys(endpoint, options.server_key, options.key_file));
  try {
    auto sockets = std::make_unique<Sockets>();
    sockets->set_options(options);
    if (keys) sockets->set_keys(*keys);
    sockets->connect(endpoint);
    return std::unique_ptr<Connection>(new Connection(std::move(sockets), options.model));
  } catch (const zmq::error_t& error) {
    return zmq_failure(error);
  }
}

Status Connection::send(const wire::RequestId& request, wire::Message message) {
  const bool about_models = wire::is_about_models(message.index());
  ASSIGN_OR_RETURN(
      const wire::Frames frames,
      wire::encode({request, std::move(message), about_models ? std::string() : model_}));
  try {
    for (size_t i = 0; i < frames.size(); ++i) {
      const bool last = i + 1 == frames.size();
      const auto flags = last ? zmq::send_flags::none : zmq::send_flags::sndmore;
      if (!sockets_->dealer.send(zmq::buffer(frames[i]), flags)) {
        return unreachable("the daemon accepts no messages");
      }
    }
    return {};
  } catch (const zmq::error_t& error) {
    return zmq_failure(error);
  }
}

Result<std::optional<wire::Envelope>> Connection::receive(int64_t wait_ms) {
  try {
    std::array<zmq::pollitem_t, 2> items = {{{sockets_->dealer.handle(), 0, ZMQ_POLLIN, 0},
                                             {sockets_->monitor.handle(), 0, ZMQ_POLLIN, 0}}};
    zmq::poll(items.data(), items.size(), std::chrono::milliseconds(wait_ms));
    ASSIGN_OR_RETURN(const std::optional<wire::Frames> frames, sockets_->receive_frames());
    if (!frames.has_value()) {
      // Everything that had arrived before the connection broke has been read by now.
      if (const auto lost = sockets_->lost_connection()) return *lost;
      return std::optional<wire::Envelope>();
    }
    Result<wire::Envelope> envelope = wire::decode(*frames);
    if (envelope.ok()) return std::optional<wire::Envelope>(std::move(envelope).value());
    return unreachable("the daemon sent a message that does not follow the protocol: " +
                       envelope.error().to_string());
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return std::optional<wire::Envelope>();
    return zmq_failure(error);
  }
}

void Connection::abandon() {
  try {
    sockets_->dealer.set(zmq::sockopt::linger, 0);
  } catch (const zmq::error_t&) {
    // The context is already shutting down, so nothing is left to drop.
  }
}

wire::RequestId new_request_id() {
  wire::RequestId id{};
  const std::array<uint64_t, 2> bits = {system_random(), system_random()};
  static_assert(sizeof bits == sizeof id);
  std::memcpy(id.data(), bits.data(), id.size());
  return id;
}

}  // namespace cascade::client
