// Two lists of messages: for receivers that are connected, and for those that are not yet.
#include "actors/scheduler/outbox.h"

#include "base/random.h"

namespace cascade {
namespace {

// Returns the id as a request's events have it: 32 hexadecimal digits.
std::string hex_of(const wire::RequestId& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Whether the message can be the answer to a change. Many messages of a stream cannot.
bool may_answer_change(const wire::Message& message) {
  return std::holds_alternative<wire::ChunkReply>(message) ||
         std::holds_alternative<wire::SessionReply>(message) ||
         std::holds_alternative<wire::PolicyReply>(message) ||
         std::holds_alternative<wire::ErrorReply>(message);
}

}  // namespace

Outbox::Outbox(const Clock& clock, size_t events_max, std::function<uint64_t()> random)
    : clock_(clock),
      random_(std::move(random)),
      events_(events_max),
      boot_id_(random_id("boot", random_)) {}

void Outbox::send(Actor to, wire::Message message) {
  auto& queue = connected_.contains({to, ""}) ? outgoing_ : held_;
  queue.push_back({to, {}, {{}, std::move(message)}});
}

void Outbox::reply(const Client& client, const wire::RequestId& id, wire::Message message) {
  if (may_answer_change(message)) {
    for (const Client& again : mutations_.end(client.tenant, id, message)) {
      if (again != client) outgoing_.push_back({Actor::kGateway, again, {id, message}});
    }
  }
  outgoing_.push_back({Actor::kGateway, client, {id, std::move(message)}});
}

void Outbox::reply(const Request& request, wire::Message message) {
  if (!request.client_gone) reply(request.client, request.id, std::move(message));
}

void Outbox::reply_error(const Client& client, const wire::RequestId& id, Error error,
                         int64_t retry_after_ms) {
  reply(client, id, wire::ErrorReply{std::move(error), retry_after_ms});
}

bool Outbox::repeats(const Client& client, const wire::RequestId& id,
                     const wire::Message& message) {
  const MutationLog::Begin begin = mutations_.begin(client, id, message);
  if (begin.answer != nullptr) outgoing_.push_back({Actor::kGateway, client, {id, *begin.answer}});
  return !begin.is_new;
}

void Outbox::tell(const std::string& tenant, wire::EventNotice event) {
  event.boot_id = boot_id_;
  event.time_us = clock_.wall_us();
  const wire::EventNotice& told = events_.add(tenant, std::move(event));
  if (!connected_.contains({Actor::kGateway, tenant})) return;
  outgoing_.push_back({Actor::kGateway, {tenant, ""}, {{}, told}});
}

void Outbox::tell_of(const Chunk& chunk, EventKind kind) {
  wire::EventNotice event;
  event.kind = kind;
  event.id = chunk.id;
  event.type = chunk.type;
  event.tokens = static_cast<int64_t>(chunk.token_ids.size());
  event.approximation = chunk.kv_approximation;
  tell(chunk.tenant, std::move(event));
}

void Outbox::tell_of(const Request& request, EventKind kind, std::string reason) {
  const bool finished = kind == EventKind::kRequestFinished;
  wire::EventNotice event;
  event.kind = kind;
  event.id = hex_of(request.id);
  event.tokens = static_cast<int64_t>(finished ? request.sampled.size() : request.prompt.size());
  event.reason = std::move(reason);
  event.approximation = request.attention.approximation;
  tell(request.client.tenant, std::move(event));
}

wire::EventsReply Outbox::events(const std::string& tenant,
                                 const wire::EventsRequest& request) const {
  return events_.read(tenant, request, boot_id_);
}

bool Outbox::connect(Actor actor, const std::string& tenant) {
  if (!connected_.insert({actor, tenant}).second) return true;
  for (Outgoing& message : std::exchange(held_, {})) {
    (message.to == actor ? outgoing_ : held_).push_back(std::move(message));
  }
  return false;
}

void Outbox::renew_boot_id() {
  boot_id_ = random_id("boot", random_);
}

}  // namespace cascade
