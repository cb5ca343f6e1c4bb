// ROUTER sockets say when a client's queue is full, but not when it has room again: waiting
// messages are tried again every few milliseconds.
#include "actors/client_queue.h"

#include <spdlog/spdlog.h>

#include <chrono>

#include "actors/worker.h"
#include "wire/frame_bytes.h"
#include "wire/messages.h"

namespace cascade {
namespace {

// The most bytes that may wait for one client that does not read: a long answer is some 100 KiB. A
// client with more is taken to have left.
constexpr size_t kPendingBytesMax = size_t{64} << 20;
constexpr auto kRetry = std::chrono::milliseconds(5);
constexpr int64_t kPauseMs = 10;
constexpr int64_t kSchedulerRetryMs = 1000;  // the scheduler restarts in less time

}  // namespace

ClientQueue::ClientQueue(asio::io_context& io, ZmqPort& clients,
                         std::function<void(const std::string&)> on_gone)
    : io_(io), clients_(clients), on_gone_(std::move(on_gone)), retry_(io) {}

void ClientQueue::expect(const std::string& client, const wire::RequestId& request) {
  open_[client].insert(request);
  clients_.set_busy(client, true);
}

void ClientQueue::note_reply(const std::string& client, std::span<const wire::Frame> message) {
  if (wire::is_on_the_way(type_of(message))) return;
  const auto open = open_.find(client);
  if (open == open_.end()) return;
  open->second.erase(wire::peek_request_id(message));
  if (!open->second.empty()) return;
  open_.erase(open);
  clients_.set_busy(client, false);
}

void ClientQueue::forget(const std::string& client) {
  open_.erase(client);
  pending_.erase(client);
}

void ClientQueue::deliver(wire::Frames frames) {
  const std::string client = frames.front();
  note_reply(client, std::span(frames).subspan(1));
  if (!pending_.contains(client)) {
    switch (clients_.send(frames)) {
      case SendResult::kSent: return;
      case SendResult::kGone: return on_gone_(client);
      case SendResult::kFull: break;
    }
  }
  Pending& pending = pending_[client];
  pending.bytes += wire::bytes_of(frames);
  pending.messages.push_back(std::move(frames));
  if (pending.bytes > kPendingBytesMax) {
    spdlog::warn("a client does not read its answers; its requests are cancelled");
    pending_.erase(client);
    on_gone_(client);
  } else if (pending_.size() == 1) {
    retry_.cancel();
  }
}

// Sleeps while there is nothing to send.
Task<> ClientQueue::run() {
  while (!closed_) {
    if (pending_.empty()) {
      retry_.expires_at(asio::steady_timer::time_point::max());
    } else {
      retry_.expires_after(kRetry);
    }
    boost::system::error_code woken;
    co_await retry_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    for (auto it = pending_.begin(); it != pending_.end();) {
      it = send_pending(it->first, it->second) ? pending_.erase(it) : std::next(it);
    }
  }
}

// True if nothing waits for the client any more.
bool ClientQueue::send_pending(const std::string& client, Pending& pending) {
  while (!pending.messages.empty()) {
    const SendResult result = clients_.send(pending.messages.front());
    if (result == SendResult::kFull) return false;
    if (result == SendResult::kGone) {
      on_gone_(client);
      return true;
    }
    pending.bytes -= wire::bytes_of(pending.messages.front());
    pending.messages.pop_front();
  }
  return true;
}

Task<> ClientQueue::drain() {
  asio::steady_timer pause(io_);
  for (int64_t waited_ms = 0; !pending_.empty() && waited_ms < kClientLingerMs;
       waited_ms += kPauseMs) {
    pause.expires_after(std::chrono::milliseconds(kPauseMs));
    co_await pause.async_wait(asio::use_awaitable);
  }
}

void ClientQueue::close() {
  closed_ = true;
  retry_.cancel();
}

size_t type_of(std::span<const wire::Frame> message) {
  return static_cast<uint8_t>(message.front().at(5));
}

Admission admit(std::span<const wire::Frame> message, const std::string& default_model) {
  Admission admission;
  auto envelope = wire::decode(message);
  if (!envelope.ok()) {
    admission.refusal =
        *wire::encode({wire::peek_request_id(message), wire::ErrorReply{envelope.error(), 0}});
    return admission;
  }
  const size_t type = envelope->message.index();
  if (!wire::is_from_client(type)) {
    admission.refusal = *wire::encode(
        {envelope->request,
         wire::ErrorReply{unsupported("type", "clients may not send this message to the daemon"),
                          0}});
    return admission;
  }
  // A Ping is about the daemon, whatever model it names.
  const bool other = !is_default_model(envelope->model, default_model) &&
                     !std::holds_alternative<wire::Ping>(envelope->message);
  admission.to_models = other || wire::is_about_models(type);
  if (other) admission.model = std::move(envelope->model);
  return admission;
}

wire::Frames for_models(const std::string& model, wire::Frames frames) {
  frames.insert(frames.begin() + 1, model);
  return frames;
}

wire::Frames scheduler_not_ready(std::span<const wire::Frame> message) {
  return *wire::encode(
      {wire::peek_request_id(message),
       wire::ErrorReply{{ErrorCode::kUnavailable, "", "the scheduler is not ready; try again"},
                        kSchedulerRetryMs}});
}

}  // namespace cascade
