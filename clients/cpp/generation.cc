// Client::generate(): follows one generation, watches over the daemon, cancels.
#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "clients/cpp/client.h"
#include "clients/cpp/endpoint.h"

namespace cascade::client {
namespace {

// How soon *cancel is noticed when no signal interrupts the wait.
constexpr int64_t kLookMs = 100;

int64_t now_ms() {
  return system_clock().monotonic_us() / 1000;
}

}  // namespace

struct Client::Running {
  wire::RequestId id{};
  const OnEvent& on_event;
  const std::atomic<bool>* cancel = nullptr;
  int64_t heard_ms = 0;                 // when the last message about this generation came
  int64_t alive_ms = 0;                 // when the last message of any kind came
  std::optional<wire::RequestId> ping;  // not answered yet
  int64_t ping_deadline_ms = 0;
  bool stop = false;  // on_event wants no more
  bool cancelled = false;
  int64_t cancel_deadline_ms = 0;
  std::optional<Result<Generation>> result;

  bool wants_cancel() const {
    return stop || (cancel != nullptr && cancel->load(std::memory_order_relaxed));
  }
};

Result<Generation> Client::generate(wire::GenerateRequest request, const OnEvent& on_event,
                                    const std::atomic<bool>* cancel) {
  RETURN_IF_ERROR(ensure_connected());
  retry_after_ms_ = 0;
  request.stream = true;  // its Progress tells a slow generation from a dead one
  Running running{
      new_request_id(), on_event, cancel, now_ms(), now_ms(), {}, 0, false, false, 0, {}};
  const Status sent = connection_->send(running.id, std::move(request));
  if (!sent.ok()) return disconnect(sent.error());
  return follow(running);
}

Result<Generation> Client::follow(Running& running) {
  while (!running.result.has_value()) {
    const Status watched = keep_watch(running);
    if (!watched.ok()) return disconnect(watched.error());
    auto received = connection_->receive(kLookMs);
    if (!received.ok()) return disconnect(received.error());
    if (!received->has_value()) continue;
    running.alive_ms = now_ms();
    RETURN_IF_ERROR(handle(running, **received));
  }
  return std::move(*running.result);
}

// Sends what is due: a CancelRequest, a Ping. Error if the daemon missed a deadline.
Status Client::keep_watch(Running& running) {
  const int64_t now = now_ms();
  if (running.wants_cancel() && !running.cancelled) {
    running.cancelled = true;
    running.cancel_deadline_ms = now + options_.timeout_ms;
    RETURN_IF_ERROR(connection_->send(new_request_id(), wire::CancelRequest{running.id}));
  }
  if (running.cancelled && now > running.cancel_deadline_ms) {
    return unreachable("the daemon did not confirm the cancellation within " +
                       std::to_string(options_.timeout_ms) + " ms");
  }
  if (now - running.heard_ms > options_.lost_ms) {
    return unreachable("nothing was heard of the generation for " +
                       std::to_string(options_.lost_ms) + " ms; the daemon has lost it");
  }
  if (running.ping.has_value()) {
    if (now <= running.ping_deadline_ms) return {};
    return unreachable("the daemon fell silent");
  }
  if (now - running.alive_ms <= options_.silence_ms) return {};
  running.ping = new_request_id();
  running.ping_deadline_ms = now + options_.timeout_ms;
  return connection_->send(*running.ping, wire::Ping{});
}

Status Client::handle(Running& running, const wire::Envelope& envelope) {
  if (running.ping.has_value() && envelope.request == *running.ping) {
    running.ping.reset();
    const auto* pong = std::get_if<wire::Pong>(&envelope.message);
    return pong != nullptr ? learn(*pong) : Status();
  }
  if (envelope.request != running.id) return {};  // the Ack of a cancellation, or something late
  running.heard_ms = running.alive_ms;
  const wire::Message& message = envelope.message;
  if (const auto* final = std::get_if<wire::Final>(&message)) {
    running.result = *final;
  } else if (const auto* error = std::get_if<wire::ErrorReply>(&message)) {
    running.result = from_daemon(*error);
  } else if (const auto* delta = std::get_if<wire::Delta>(&message)) {
    handle_event(running, *delta);
  } else if (const auto* progress = std::get_if<wire::Progress>(&message)) {
    handle_event(running, *progress);
  } else if (const auto* accepted = std::get_if<wire::Accepted>(&message)) {
    handle_event(running, *accepted);
  }
  return {};
}

void Client::handle_event(Running& running, const Event& event) {
  if (!running.on_event || running.wants_cancel()) return;
  running.stop = !running.on_event(event);
}

}  // namespace cascade::client
