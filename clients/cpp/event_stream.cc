// A SUB socket says that something happened; the events are read from the daemon's log, in which
// nothing is missing. A SUB socket does not show whether the daemon is there, so the log is also
// asked now and then.
#include "clients/cpp/event_stream.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <zmq.hpp>

#include "clients/cpp/endpoint.h"
#include "wire/events_endpoint.h"

namespace cascade::client {
namespace {

// After this much silence the daemon is asked whether it is still there.
constexpr int64_t kSilenceMs = 1'000;
// The largest number of events of one EventsRequest.
constexpr int32_t kEventsAtOnce = 1'000;
// It takes a moment until the publisher knows of a subscription. Events of that moment come from
// the log.
constexpr int64_t kPollMs = 100;

int64_t steady_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Error subscription_failure(const zmq::error_t& error) {
  return unreachable(std::string("ZeroMQ: ") + error.what());
}

}  // namespace

struct EventStream::Subscription {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::sub};

  // Whether anything came within `wait_ms`. Takes and drops all that has come: the events are read
  // from the log, in which nothing is missing.
  bool woken(int64_t wait_ms) {
    zmq::pollitem_t item = {socket.handle(), 0, ZMQ_POLLIN, 0};
    zmq::poll(&item, 1, std::chrono::milliseconds(wait_ms));
    bool any = false;
    zmq::message_t part;
    while (socket.recv(part, zmq::recv_flags::dontwait)) any = true;
    return any;
  }
};

EventStream::EventStream(Client client, std::unique_ptr<Subscription> subscription)
    : client_(std::move(client)), subscription_(std::move(subscription)) {}

EventStream::EventStream(EventStream&&) noexcept = default;
EventStream& EventStream::operator=(EventStream&&) noexcept = default;
EventStream::~EventStream() = default;

Result<EventStream> EventStream::connect(const std::string& endpoint, std::optional<int64_t> since,
                                         const ClientOptions& options) {
  ASSIGN_OR_RETURN(Client client, Client::connect(endpoint, options));
  auto subscription = std::make_unique<Subscription>();
  try {
    subscription->socket.set(zmq::sockopt::linger, 0);
    subscription->socket.set(zmq::sockopt::maxmsgsize,
                             static_cast<int64_t>(wire::kMessageBytesMax));
    subscription->socket.set(zmq::sockopt::subscribe, "");
    // Nothing is published over tcp or by other models than the default one. There, events are
    // found only by the look into the log after each silence.
    if (!endpoint.starts_with("tcp://") && options.model.empty()) {
      subscription->socket.connect(wire::events_endpoint(endpoint));
    }
  } catch (const zmq::error_t& error) {
    return subscription_failure(error);
  }
  ASSIGN_OR_RETURN(const wire::EventsReply now,
                   client.events({.after = INT64_MAX, .boot_id = {}, .limit = 1}));
  EventStream stream(std::move(client), std::move(subscription));
  stream.boot_id_ = now.boot_id;
  stream.last_ = since.value_or(now.last);
  stream.checked_ms_ = steady_ms();
  return stream;
}

Status EventStream::fetch(Next& next) {
  bool more = true;
  while (more) {
    ASSIGN_OR_RETURN(wire::EventsReply reply,
                     client_.events({.after = last_, .boot_id = boot_id_, .limit = kEventsAtOnce}));
    checked_ms_ = steady_ms();
    next.gap = next.gap || reply.gap;
    boot_id_ = reply.boot_id;
    for (wire::EventNotice& event : reply.events) {
      last_ = event.sequence;
      next.events.push_back(std::move(event));
    }
    if (reply.events.empty()) last_ = reply.last;
    more = last_ < reply.last;
  }
  return {};
}

Result<EventStream::Next> EventStream::next(int64_t wait_ms) {
  Next next;
  const int64_t end_ms = steady_ms() + wait_ms;
  try {
    while (next.events.empty() && !next.gap) {
      const int64_t left_ms = end_ms - steady_ms();
      const bool woken = subscription_->woken(std::clamp<int64_t>(left_ms, 0, kPollMs));
      if (woken || steady_ms() - checked_ms_ >= kSilenceMs) RETURN_IF_ERROR(fetch(next));
      if (left_ms <= 0) break;
    }
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) return subscription_failure(error);
  }
  return next;
}

}  // namespace cascade::client
