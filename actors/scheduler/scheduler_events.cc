// What clients are told of as it happens: to their tenant's gateway, and into the log.
#include <utility>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

// Ten times a second: all holds of a tenant that has very many within half a minute.
constexpr int kHoldsAtOnce = 256;

}  // namespace

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
  outbox_.reply(client, id, outbox_.events(client.tenant, request));
}

}  // namespace cascade
