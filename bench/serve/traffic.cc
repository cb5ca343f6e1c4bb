// DEALER sockets of one context, watched by one poll.
#include "bench/serve/traffic.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <zmq.hpp>

#include "base/random.h"
#include "bench/serve/interrupt.h"
#include "clients/cpp/endpoint.h"

namespace cascade::serve {
namespace {

// The largest number of sockets. Closed sockets count until everything that they sent has left.
constexpr int kSocketsMax = 16'384;
// Long enough for the sent messages to leave; a socket with nothing left to send closes at once.
constexpr int kLingerMs = 1000;
constexpr int kSendMs = 5000;
constexpr int64_t kSilenceUs = 60'000'000;  // streams send something every second
constexpr int64_t kStepUs = 100'000;        // how soon a signal or the daemon's end is noticed
// The largest number of messages handled before other due work gets its turn.
constexpr int kMessagesAtOnce = 256;

Error unavailable(std::string message) {
  return {ErrorCode::kUnavailable, "", std::move(message)};
}

}  // namespace

struct Traffic::Sockets {
  zmq::context_t context{1};
  std::vector<std::unique_ptr<zmq::socket_t>> all;  // null: vanished
  std::vector<zmq::pollitem_t> items;               // for the sockets that still exist
  std::vector<int> connections;                     // [items]
  std::map<wire::RequestId, ExchangePtr> exchanges;

  void rebuild() {
    items.clear();
    connections.clear();
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i]) continue;
      items.push_back({all[i]->handle(), 0, ZMQ_POLLIN, 0});
      connections.push_back(static_cast<int>(i));
    }
  }
};

int64_t now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

double Exchange::first_text_ms() const {
  const int64_t first = delta_us.empty() ? ended_us : delta_us.front();
  return static_cast<double>(first - sent_us) / 1e3;
}

Traffic::Traffic(DaemonProcess& daemon)
    : daemon_(daemon), sockets_(std::make_unique<Sockets>()), heard_us_(now_us()) {
  sockets_->context.set(zmq::ctxopt::max_sockets, kSocketsMax);
}

Traffic::~Traffic() {
  for (auto& socket : sockets_->all) {
    if (socket) socket->set(zmq::sockopt::linger, 0);
  }
}

size_t Traffic::in_flight() const {
  return sockets_->exchanges.size();
}

Result<int> Traffic::connect(const std::string& endpoint) {
  const Status listens = client::probe_endpoint(endpoint);
  if (!listens.ok()) return daemon_.why_gone(listens.error());
  try {
    auto socket = std::make_unique<zmq::socket_t>(sockets_->context, zmq::socket_type::dealer);
    socket->set(zmq::sockopt::linger, kLingerMs);
    socket->set(zmq::sockopt::sndtimeo, kSendMs);
    socket->set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(wire::kMessageBytesMax));
    socket->connect(endpoint);
    sockets_->all.push_back(std::move(socket));
    sockets_->rebuild();
    return static_cast<int>(sockets_->all.size()) - 1;
  } catch (const zmq::error_t& error) {
    return unavailable(std::string("ZeroMQ: ") + error.what());
  }
}

void Traffic::vanish(int connection) {
  sockets_->all.at(connection).reset();
  sockets_->rebuild();
  std::erase_if(sockets_->exchanges,
                [&](const auto& entry) { return entry.second->connection == connection; });
  std::erase_if(ended_,
                [&](const ExchangePtr& exchange) { return exchange->connection == connection; });
}

wire::RequestId Traffic::next_id() {
  wire::RequestId id{};
  ++ids_;
  std::memcpy(id.data(), &ids_, sizeof ids_);
  return id;
}

Status Traffic::post(int connection, const wire::RequestId& id, wire::Message message) {
  const wire::Frames frames = *wire::encode({id, std::move(message)});
  try {
    zmq::socket_t& socket = *sockets_->all.at(connection);
    for (size_t i = 0; i < frames.size(); ++i) {
      const bool last = i + 1 == frames.size();
      const auto flags = last ? zmq::send_flags::none : zmq::send_flags::sndmore;
      if (!socket.send(zmq::buffer(frames[i]), flags)) {
        return unavailable("the daemon accepts no messages");
      }
    }
    return {};
  } catch (const zmq::error_t& error) {
    if (const Status interrupted = check_interrupted(); !interrupted.ok()) return interrupted;
    return unavailable(std::string("ZeroMQ: ") + error.what());
  }
}

Result<ExchangePtr> Traffic::send(int connection, wire::GenerateRequest request, uint64_t tag) {
  auto exchange = std::make_shared<Exchange>();
  exchange->tag = tag;
  exchange->connection = connection;
  exchange->id = next_id();
  if (sockets_->exchanges.empty()) heard_us_ = now_us();
  sockets_->exchanges[exchange->id] = exchange;
  exchange->sent_us = now_us();
  RETURN_IF_ERROR(post(connection, exchange->id, std::move(request)));
  return exchange;
}

Result<std::vector<ExchangePtr>> Traffic::pump(int64_t until_us) {
  for (bool handled = !ended_.empty(); !handled;) {
    ASSIGN_OR_RETURN(handled, wait(until_us));
    if (now_us() >= until_us) break;
  }
  return std::exchange(ended_, {});
}

Result<ExchangePtr> Traffic::run(int connection, wire::GenerateRequest request) {
  request.stream = true;
  ASSIGN_OR_RETURN(const ExchangePtr exchange, send(connection, std::move(request)));
  std::vector<ExchangePtr> others;
  while (!exchange->ended()) {
    ASSIGN_OR_RETURN(const auto ended, pump(now_us() + kStepUs));
    for (const ExchangePtr& other : ended) {
      if (other != exchange) others.push_back(other);
    }
  }
  ended_.insert(ended_.begin(), others.begin(), others.end());
  if (exchange->error) return exchange->error->error;
  return exchange;
}

Result<wire::Message> Traffic::call(int connection, wire::Message message) {
  called_ = next_id();
  calling_ = true;
  answer_.reset();
  heard_us_ = now_us();
  RETURN_IF_ERROR(post(connection, called_, std::move(message)));
  while (!answer_) {
    ASSIGN_OR_RETURN(const bool handled, wait(now_us() + kStepUs));
    if (!handled) continue;
  }
  calling_ = false;
  if (const auto* error = std::get_if<wire::ErrorReply>(&*answer_)) return error->error;
  return std::move(*answer_);
}

Result<wire::StatusReply> Traffic::status(int connection) {
  ASSIGN_OR_RETURN(const wire::Message answer, call(connection, wire::StatusRequest{}));
  if (const auto* status = std::get_if<wire::StatusReply>(&answer)) return *status;
  return unavailable("the daemon answered a StatusRequest with something else");
}

Result<wire::StatsReply> Traffic::stats(int connection) {
  ASSIGN_OR_RETURN(wire::Message answer, call(connection, wire::StatsRequest{}));
  if (auto* stats = std::get_if<wire::StatsReply>(&answer)) return std::move(*stats);
  return unavailable("the daemon answered a StatsRequest with something else");
}

Status Traffic::cancel(const Exchange& exchange) {
  ASSIGN_OR_RETURN(const wire::Message answer,
                   call(exchange.connection, wire::CancelRequest{exchange.id}));
  if (std::holds_alternative<wire::Ack>(answer)) return {};
  return unavailable("the daemon answered a CancelRequest with something else");
}

// Polls once, for at most a step. Returns whether anything came.
Result<bool> Traffic::wait(int64_t until_us) {
  const int64_t left_us = std::clamp<int64_t>(until_us - now_us(), 0, kStepUs);
  try {
    const auto left = std::chrono::milliseconds((left_us + 999) / 1000);
    const int ready = zmq::poll(sockets_->items.data(), sockets_->items.size(), left);
    if (ready > 0) RETURN_IF_ERROR(receive_all());
    if (ready == 0 || now_us() - checked_us_ > kStepUs) RETURN_IF_ERROR(check_daemon());
    return ready > 0;
  } catch (const zmq::error_t& error) {
    RETURN_IF_ERROR(check_interrupted());
    if (error.num() == EINTR) return false;
    return unavailable(std::string("ZeroMQ: ") + error.what());
  }
}

Status Traffic::check_daemon() {
  checked_us_ = now_us();
  RETURN_IF_ERROR(check_interrupted());
  RETURN_IF_ERROR(daemon_.check_alive());
  const bool asked = calling_ || !sockets_->exchanges.empty();
  if (!asked || checked_us_ - heard_us_ < kSilenceUs) return {};
  return unavailable("nothing came from the daemon for a minute");
}

Status Traffic::receive_all() {
  int handled = 0;
  for (const zmq::pollitem_t& item : sockets_->items) {
    if ((item.revents & ZMQ_POLLIN) == 0) continue;
    const auto at = static_cast<size_t>(&item - sockets_->items.data());
    zmq::socket_t& socket = *sockets_->all[sockets_->connections[at]];
    while (handled < kMessagesAtOnce) {
      wire::Frames frames;
      zmq::message_t part;
      if (!socket.recv(part, zmq::recv_flags::dontwait)) break;
      frames.emplace_back(part.data<char>(), part.size());
      while (part.more()) {
        (void)socket.recv(part);  // the whole message has arrived
        frames.emplace_back(part.data<char>(), part.size());
      }
      ASSIGN_OR_RETURN(wire::Envelope envelope, wire::decode(frames));
      RETURN_IF_ERROR(handle(std::move(envelope)));
      ++handled;
    }
  }
  return {};
}

Status Traffic::handle(wire::Envelope&& envelope) {
  const int64_t now = heard_us_ = now_us();
  if (calling_ && envelope.request == called_) {
    answer_ = std::move(envelope.message);
    return {};
  }
  const auto found = sockets_->exchanges.find(envelope.request);
  // The message belongs to a generation that was given up.
  if (found == sockets_->exchanges.end()) return {};
  const ExchangePtr exchange = found->second;
  wire::Message& message = envelope.message;
  if (std::holds_alternative<wire::Accepted>(message)) {
    exchange->accepted_us = now;
  } else if (const auto* progress = std::get_if<wire::Progress>(&message)) {
    exchange->prompt_tokens_done = progress->prompt_tokens_done;
  } else if (std::holds_alternative<wire::Delta>(message)) {
    exchange->delta_us.push_back(now);
  } else if (auto* final = std::get_if<wire::Final>(&message)) {
    exchange->final = std::move(*final);
  } else if (auto* error = std::get_if<wire::ErrorReply>(&message)) {
    exchange->error = std::move(*error);
  } else {
    return unavailable("the daemon answered a GenerateRequest with something else");
  }
  if (!exchange->final && !exchange->error) return {};
  exchange->ended_us = now;
  sockets_->exchanges.erase(found);
  ended_.push_back(exchange);
  return {};
}

}  // namespace cascade::serve
