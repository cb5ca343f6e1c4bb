// What clients are told of as it happens: to their tenant's gateway, and into the log.
#include <utility>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

// Ten times a second: all holds of a tenant that has very many within half a minute.
constexpr int kHoldsAtOnce = 256;

// A request's events have its id as 32 hexadecimal digits.
std::string hex_of(const wire::RequestId& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

void SchedulerCore::tell(const std::string& tenant, wire::EventNotice event) {
  event.boot_id = boot_id_;
  event.time_us = clock_.wall_us();
  const wire::EventNotice& told = events_.add(tenant, std::move(event));
  if (!connected_.contains({Actor::kGateway, tenant})) return;
  outgoing_.push_back({Actor::kGateway, {tenant, {kIpcRoute}}, {{}, told}});
}

void SchedulerCore::tell_of(const Chunk& chunk, EventKind kind) {
  wire::EventNotice event;
  event.kind = kind;
  event.id = chunk.id;
  event.type = chunk.type;
  event.tokens = static_cast<int64_t>(chunk.token_ids.size());
  tell(chunk.tenant, std::move(event));
}

void SchedulerCore::tell_of(const Request& request, EventKind kind, std::string reason) {
  const bool finished = kind == EventKind::kRequestFinished;
  wire::EventNotice event;
  event.kind = kind;
  event.id = hex_of(request.id);
  event.tokens = static_cast<int64_t>(finished ? request.sampled.size() : request.prompt.size());
  event.reason = std::move(reason);
  tell(request.client.tenant, std::move(event));
}

// A hold that was lost is noticed when somebody looks.
void SchedulerCore::look_for_evictions() {
  auto next = held_chunks_.upper_bound(evictions_seen_);
  for (int looked = 0; looked < kHoldsAtOnce && next != held_chunks_.end(); ++looked) {
    evictions_seen_ = next->first;
    ChunkEntry& entry = *next->second;
    ++next;  // refresh() takes this one out if it is lost
    refresh(entry);
  }
  if (next == held_chunks_.end()) evictions_seen_ = 0;
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::EventsRequest& request) {
  reply(client, id, events_.read(client.tenant, request, boot_id_));
}

}  // namespace cascade
