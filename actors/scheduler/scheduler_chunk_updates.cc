// Changes of a chunk by its owner: all that was asked for, or nothing.
#include "actors/scheduler/scheduler_core.h"
#include "base/tenant.h"

namespace cascade {

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       wire::ChunkUpdate&& update) {
  const auto found = registry_.find_own(client.tenant, update.id);
  if (!found.ok()) return reply_error(client, id, found.error());
  ChunkEntry& entry = **found;
  const ChunkSettings settings = settings_of(update);
  const Status allowed = check(settings, &entry, entry.chunk);
  if (!allowed.ok()) return reply_error(client, id, allowed.error());
  if (update.touch) use_chunks(client.tenant, {entry.chunk.id});
  if (settings != ChunkSettings{}) {
    apply(settings, entry);
    store(entry.chunk);
  }
  refresh(entry);
  reply_when_stored(client, id, {{entry.chunk.tenant, entry.chunk.id}},
                    wire::ChunkReply{entry.chunk});
}

// Whether the settings can be applied to `entry`, or if that is null, to `chunk` once it is there.
Status SchedulerCore::check(const ChunkSettings& settings, const ChunkEntry* entry,
                            const Chunk& chunk) const {
  if (settings.published && chunk.tenant != kLocalTenant) {
    return Error{ErrorCode::kConflict, "published",
                 "only the tenant \"" + std::string(kLocalTenant) + "\" publishes chunks"};
  }
  const bool pinned_already = entry != nullptr && entry->chunk.pinned;
  if (!settings.pinned.value_or(false) || pinned_already) return {};
  ChunkEntry fresh;
  if (entry == nullptr) {
    fresh.chunk.type = chunk.type;
    fresh.chunk.token_ids = chunk.token_ids;
    entry = &fresh;
  }
  return check_pin_room("pinned", pages_of_pin(*entry));
}

// Precondition: check() allows it.
void SchedulerCore::apply(const ChunkSettings& settings, ChunkEntry& entry) {
  Chunk& chunk = entry.chunk;
  const int64_t now_us = clock_.wall_us();
  if (settings.name) chunk.name = *settings.name;
  if (settings.ttl_ms) {
    chunk.expires_us = *settings.ttl_ms == 0 ? 0 : now_us + *settings.ttl_ms * 1000;
  }
  if (settings.priority) {
    chunk.priority = *settings.priority;
    chunk.priority_until_us = settings.priority_ms ? now_us + *settings.priority_ms * 1000 : 0;
    follow_priority(entry);
  }
  registry_.reschedule(entry);
  if (settings.published) {
    registry_.publish(entry, *settings.published);
    if (*settings.published) {
      publish_pages(entry);
    } else {
      withdraw_pages(entry, Removal::kDeleted);
    }
  }
  if (settings.pinned) set_pinned(entry, *settings.pinned);
}

}  // namespace cascade
