// Calls that take a while – generations, prefixes: they are followed, watched and cancelled here.
#include <algorithm>
#include <map>
#include <optional>

#include "base/clock.h"
#include "clients/cpp/client.h"
#include "clients/cpp/endpoint.h"

namespace cascade::client {
namespace {

// How soon *cancel is noticed if no signal interrupts the wait.
constexpr int64_t kLookMs = 100;
// The largest number of Deltas that may be on their way to a slow on_event; the daemon joins the
// text after them. A Delta is a burst of decode steps, so a connection of 100 ms does not wait for
// its grants.
constexpr int32_t kDeltasUnderWay = 64;
constexpr int32_t kDeltasPerGrant = kDeltasUnderWay / 2;

int64_t now_ms() {
  return system_clock().monotonic_us() / 1000;
}

template <class Reply>
Result<Reply> as(Result<wire::Message>&& ended) {
  if (!ended.ok()) return ended.error();
  if (auto* reply = std::get_if<Reply>(&*ended)) return std::move(*reply);
  return Error{ErrorCode::kInternal, "reply", "the daemon answered another question"};
}

}  // namespace

struct Client::Running {
  size_t index = 0;  // the request's place in the batch
  wire::RequestId id{};
  int64_t heard_ms = 0;  // when the last message about this generation came
  bool stop = false;     // on_event wants no more
  bool cancelled = false;
  int64_t cancel_deadline_ms = 0;
  bool grants = false;      // grants credit for more Deltas when some have been read
  int32_t deltas_read = 0;  // since the last grant
};

struct Client::Batch {
  const OnBatchEvent& on_event;
  const std::atomic<bool>* cancel = nullptr;
  std::map<wire::RequestId, Running> running;  // the generations that have not ended
  std::vector<std::optional<Result<wire::Message>>> results;
  int64_t alive_ms = 0;                 // when the last message of any kind came
  std::optional<wire::RequestId> ping;  // not answered yet
  int64_t ping_deadline_ms = 0;

  bool wants_cancel(const Running& one) const {
    return one.stop || (cancel != nullptr && cancel->load(std::memory_order_relaxed));
  }
  void end(std::map<wire::RequestId, Running>::iterator one, Result<wire::Message> result) {
    results[one->second.index] = std::move(result);
    running.erase(one);
  }
};

Result<Generation> Client::generate(wire::GenerateRequest request, const OnEvent& on_event,
                                    const std::atomic<bool>* cancel) {
  OnBatchEvent forward;
  if (on_event) forward = [&](size_t, const Event& event) { return on_event(event); };
  std::vector<wire::GenerateRequest> requests;
  requests.push_back(std::move(request));
  return std::move(generate_batch(std::move(requests), forward, cancel).front());
}

std::vector<Result<Generation>> Client::generate_batch(std::vector<wire::GenerateRequest> requests,
                                                       const OnBatchEvent& on_event,
                                                       const std::atomic<bool>* cancel) {
  const size_t count = requests.size();
  if (count > kBatchRequestsMax) {
    const Error error = invalid_argument("requests", "has " + std::to_string(count) +
                                                         " requests, more than the limit of " +
                                                         std::to_string(kBatchRequestsMax));
    return std::vector<Result<Generation>>(count, error);
  }
  std::vector<wire::Message> messages;
  for (wire::GenerateRequest& request : requests) {
    request.stream = true;  // Progress tells a slow generation from a dead one
    // A client that does not look at events gets the text once, at the end.
    if (!on_event && !request.delta_credit) request.delta_credit = 0;
    messages.emplace_back(std::move(request));
  }
  std::vector<Result<Generation>> results;
  for (Result<wire::Message>& ended : run_all(std::move(messages), on_event, cancel)) {
    results.push_back(as<wire::Final>(std::move(ended)));
  }
  return results;
}

Result<wire::PrefixReply> Client::cache_prefix(wire::PrefixCache prefix,
                                               const std::atomic<bool>* cancel) {
  prefix.stream = true;
  std::vector<wire::Message> messages;
  messages.emplace_back(std::move(prefix));
  return as<wire::PrefixReply>(std::move(run_all(std::move(messages), {}, cancel).front()));
}

// Returns how each of the requests ended.
std::vector<Result<wire::Message>> Client::run_all(std::vector<wire::Message>&& requests,
                                                   const OnBatchEvent& on_event,
                                                   const std::atomic<bool>* cancel) {
  Batch batch{on_event, cancel, {}, {}, 0, {}, 0};
  batch.results.resize(requests.size());
  const Status ran = run(batch, std::move(requests));
  std::vector<Result<wire::Message>> results;
  for (std::optional<Result<wire::Message>>& result : batch.results) {
    // A request has no result of its own only if the connection was lost.
    results.push_back(result.has_value() ? *std::move(result) : Result<wire::Message>(ran.error()));
  }
  return results;
}

// Errors: those of the connection, which is then given up with all running generations.
Status Client::run(Batch& batch, std::vector<wire::Message>&& requests) {
  RETURN_IF_ERROR(ensure_connected());
  retry_after_ms_ = 0;
  batch.alive_ms = now_ms();
  for (size_t i = 0; i < requests.size(); ++i) {
    const wire::RequestId id = new_request_id();
    Running& running = batch.running[id];
    running = {.index = i, .id = id, .heard_ms = now_ms()};
    if (auto* generate = std::get_if<wire::GenerateRequest>(&requests[i])) {
      running.grants = !generate->delta_credit;
      if (running.grants) generate->delta_credit = kDeltasUnderWay;
    }
    const Status sent = connection_->send(id, std::move(requests[i]));
    if (!sent.ok()) return disconnect(sent.error());
  }
  return follow(batch);
}

Status Client::follow(Batch& batch) {
  while (!batch.running.empty()) {
    const Status watched = keep_watch(batch);
    if (!watched.ok()) return disconnect(watched.error());
    auto received = connection_->receive(kLookMs);
    if (!received.ok()) return disconnect(received.error());
    if (!received->has_value()) continue;
    batch.alive_ms = now_ms();
    RETURN_IF_ERROR(handle(batch, **std::move(received)));
  }
  return {};
}

// Sends the CancelRequests and the Ping that are due. Error if the daemon missed a deadline.
Status Client::keep_watch(Batch& batch) {
  const int64_t now = now_ms();
  for (auto& [id, running] : batch.running) RETURN_IF_ERROR(watch_over(batch, running, now));
  if (batch.ping.has_value()) {
    if (now <= batch.ping_deadline_ms) return {};
    return unreachable("the daemon fell silent");
  }
  if (now - batch.alive_ms <= options_.silence_ms) return {};
  batch.ping = new_request_id();
  batch.ping_deadline_ms = now + options_.timeout_ms;
  return connection_->send(*batch.ping, wire::Ping{});
}

Status Client::watch_over(const Batch& batch, Running& running, int64_t now_ms) {
  if (batch.wants_cancel(running) && !running.cancelled) {
    running.cancelled = true;
    running.cancel_deadline_ms = now_ms + options_.timeout_ms;
    RETURN_IF_ERROR(connection_->send(new_request_id(), wire::CancelRequest{running.id}));
  }
  if (running.cancelled && now_ms > running.cancel_deadline_ms) {
    return unreachable("the daemon did not confirm the cancellation within " +
                       std::to_string(options_.timeout_ms) + " ms");
  }
  if (now_ms - running.heard_ms > options_.lost_ms) {
    return unreachable("nothing came from the generation for " + std::to_string(options_.lost_ms) +
                       " ms; the daemon has lost it");
  }
  return {};
}

// Counts a Delta that was read, and grants credit for more when enough were. The daemon's Ack is
// ignored.
Status Client::grant(Running& running) {
  if (!running.grants || ++running.deltas_read < kDeltasPerGrant) return {};
  running.deltas_read = 0;
  const wire::DeltaCredit credit = {running.id, kDeltasPerGrant};
  const Status sent = connection_->send(new_request_id(), credit);
  return sent.ok() ? sent : Status(disconnect(sent.error()));
}

Status Client::handle(Batch& batch, wire::Envelope&& envelope) {
  wire::Message& message = envelope.message;
  if (batch.ping.has_value() && envelope.request == *batch.ping) {
    batch.ping.reset();
    const auto* pong = std::get_if<wire::Pong>(&message);
    return pong != nullptr ? learn(*pong) : Status();
  }
  const auto found = batch.running.find(envelope.request);
  if (found == batch.running.end()) return {};  // the Ack of a cancellation, or something late
  Running& running = found->second;
  running.heard_ms = batch.alive_ms;
  const auto tell = [&](const auto& event) {
    if (!batch.on_event || batch.wants_cancel(running)) return;
    running.stop = !batch.on_event(running.index, event);
  };
  const auto* final = std::get_if<wire::Final>(&message);
  if (final != nullptr && !final->output_chunk_id.empty()) {
    all_durable_ = all_durable_ && final->durable;
  }
  if (final != nullptr || std::holds_alternative<wire::PrefixReply>(message)) {
    batch.end(found, std::move(message));
  } else if (const auto* error = std::get_if<wire::ErrorReply>(&message)) {
    const int64_t before_ms = retry_after_ms_;
    batch.end(found, from_daemon(*error));
    retry_after_ms_ = std::max(retry_after_ms_, before_ms);
  } else if (const auto* delta = std::get_if<wire::Delta>(&message)) {
    tell(*delta);
    return grant(running);
  } else if (const auto* progress = std::get_if<wire::Progress>(&message)) {
    tell(*progress);
  } else if (const auto* accepted = std::get_if<wire::Accepted>(&message)) {
    tell(*accepted);
  }
  return {};
}

}  // namespace cascade::client
