// Changes of a chunk by its owner: either all that was asked for is done, or nothing.
#include "actors/scheduler/scheduler_core.h"
#include "base/tenant.h"
#include "cache/holders.h"

namespace cascade {

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       wire::ChunkUpdate&& update) {
  const auto found = registry_.find_own(client.tenant, update.id);
  if (!found.ok()) return outbox_.reply_error(client, id, found.error());
  ChunkEntry& entry = **found;
  const ChunkSettings settings = settings_of(update);
  const Status allowed = check(settings, &entry, entry.chunk);
  if (!allowed.ok()) return outbox_.reply_error(client, id, allowed.error());
  const ChunkBefore before = {entry.chunk.holders, entry.chunk.registrations,
                              entry.chunk.published};
  wire::ChunkReply answer;
  if (const Status changed = change_holders(settings, entry, answer.ended); !changed.ok()) {
    return outbox_.reply_error(client, id, changed.error());
  }
  const StoredName name = {entry.chunk.tenant, entry.chunk.id};
  if (entry.chunk.holders.empty()) {  // only the pin had kept it
    answer.chunk = keep_.removals.remove(entry, Removal::kExpired);
    answer.gone = true;
    return keep_.removals.reply_when_gone(client, id, {name}, {name}, std::move(answer));
  }
  if (update.touch) use_chunks(client.tenant, {entry.chunk.id});
  if (settings != ChunkSettings{}) metadata_.put(entry.chunk);
  keep_.pin_replies.reply(entry, {name, client, id, std::move(answer.ended), before},
                          settings.pinned.value_or(false));
}

// Checks that the settings can be applied to `entry` or, if that is null, to `chunk` once it
// exists.
Status SchedulerCore::check(const ChunkSettings& settings, const ChunkEntry* entry,
                            const Chunk& chunk) const {
  if (settings.published && chunk.tenant != kLocalTenant) {
    return Error{ErrorCode::kConflict, "published",
                 "only the tenant \"" + std::string(kLocalTenant) + "\" may publish chunks"};
  }
  const bool pinned_already = entry != nullptr && entry->chunk.pinned;
  if (!settings.pinned.value_or(false) || pinned_already) return {};
  ChunkEntry fresh;
  if (entry == nullptr) {
    fresh.chunk.type = chunk.type;
    fresh.chunk.token_ids = chunk.token_ids;
    entry = &fresh;
  }
  const int64_t texts = has_own_chain(chunk.type)
                            ? 0
                            : keep_.pinned_texts.pages_wanted({chunk.tenant, entry->chunk.id});
  return keep_.pin_budget.check("pinned", keep_.pin_budget.pages_of(*entry) + texts);
}

// Returns the holders that a client gets for registering a chunk or retaining an output, with the
// terms that the client sets. A pin belongs to the holder of the name, if there is a name.
std::vector<Holder> SchedulerCore::holders_of(const std::string& tenant, ChunkType type,
                                              const ChunkSettings& settings,
                                              const std::string& session) const {
  const int64_t now_us = clock_.wall_us();
  Holder holder;
  holder.expires_us = doors_.policy.expiry_us(tenant, type);
  if (settings.ttl_ms)
    holder.expires_us = *settings.ttl_ms == 0 ? 0 : now_us + *settings.ttl_ms * 1000;
  holder.priority = settings.priority.value_or(default_priority(type));
  if (settings.priority && settings.priority_ms) {
    holder.priority_until_us = now_us + *settings.priority_ms * 1000;
  }
  const std::string name = settings.name.value_or("");
  std::vector<Holder> holders;
  const auto add = [&](HolderKind kind, const std::string& label) {
    holders.push_back(holder);
    holders.back().kind = kind;
    holders.back().label = label;
  };
  if (!session.empty()) add(HolderKind::kSession, session);
  if (!name.empty()) add(HolderKind::kName, name);
  if (holders.empty()) add(HolderKind::kRetention, "");
  holders.back().pinned = settings.pinned.value_or(false);
  return holders;
}

// Precondition: check() allows it. If no holder is left, the chunk is to be removed. Errors are
// those of add_holder(), after which nothing has been changed.
Status SchedulerCore::change_holders(const ChunkSettings& settings, ChunkEntry& entry,
                                     EndedHolders& ended) {
  Chunk& chunk = entry.chunk;
  const int64_t now_us = clock_.wall_us();
  HolderTerms terms;
  if (settings.ttl_ms)
    terms.expires_us = *settings.ttl_ms == 0 ? 0 : now_us + *settings.ttl_ms * 1000;
  if (settings.priority) {
    terms.priority = *settings.priority;
    terms.priority_until_us = settings.priority_ms ? now_us + *settings.priority_ms * 1000 : 0;
  }
  terms.pinned = settings.pinned;
  if (settings.name && !settings.name->empty()) {
    RETURN_IF_ERROR(change_named(chunk, *settings.name, terms,
                                 doors_.policy.expiry_us(chunk.tenant, chunk.type)));
  } else {
    if (settings.name) clear_names(chunk, &ended);
    change_unnamed(chunk, terms, &ended);
  }
  pass_holders_time(chunk, now_us, &ended);  // ends what only a pin had kept
  keep_.pins.follow_holders(entry);
  if (!settings.published || chunk.holders.empty()) return {};
  keep_.published.set_published(entry, *settings.published);
  return {};
}

}  // namespace cascade
