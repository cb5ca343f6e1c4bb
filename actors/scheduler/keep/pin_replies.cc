// A pin is answered, or undone.
#include "actors/scheduler/keep/pin_replies.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "cache/holders.h"

namespace cascade {

PinReplies::PinReplies(bool keeps_pages, const Clock& clock, Outbox& outbox,
                       MetadataWriter& metadata, ChunkRegistry& registry, PageWriter& writer,
                       ChunkHolds& holds, ChunkPins& pins, Callbacks callbacks)
    : keeps_pages_(keeps_pages),
      clock_(clock),
      outbox_(outbox),
      metadata_(metadata),
      registry_(registry),
      writer_(writer),
      holds_(holds),
      pins_(pins),
      callbacks_(std::move(callbacks)) {}

bool PinReplies::is_awaited(const StoredName& chunk) const {
  return std::ranges::find(waiting_, chunk, &PinReply::chunk) != waiting_.end();
}

void PinReplies::reply(ChunkEntry& entry, PinReply&& change, bool pins) {
  holds_.measure(entry);
  const bool was_pinned = std::ranges::any_of(change.before.holders, &Holder::pinned);
  const bool waits = pins && keeps_pages_ && (!was_pinned || is_awaited(change.chunk));
  if (!waits || pins_.is_on_disk(entry)) {
    wire::ChunkReply answer;
    answer.chunk = entry.chunk;
    answer.ended = std::move(change.ended);
    return metadata_.reply(change.client, change.id, {change.chunk}, std::move(answer));
  }
  change.after = entry.chunk.holders;
  waiting_.push_back(std::move(change));
  writer_.retry_now();
  answer();
}

void PinReplies::stop() {
  stopping_ = true;
  answer();
}

void PinReplies::answer() {
  if (waiting_.empty()) return;
  if (stopping_) return refuse({ErrorCode::kUnavailable, "", "the daemon is stopping"});
  for (const PinReply& pin : std::vector(waiting_)) {
    const auto found = registry_.find_own(pin.chunk.tenant, pin.chunk.id);
    if (!found.ok()) {
      refuse(found.error(), pin.chunk);
      continue;
    }
    ChunkEntry& entry = **found;
    if (entry.chunk.pinned && !pins_.is_on_disk(entry)) {
      pins_.write(entry);
      continue;
    }
    std::erase_if(waiting_, [&](const PinReply& other) {
      return other.client == pin.client && other.id == pin.id;
    });
    if (!entry.chunk.pinned) {
      outbox_.reply_error(
          pin.client, pin.id,
          {ErrorCode::kConflict, "pinned", "the chunk was unpinned before its pages were on disk"});
      continue;
    }
    holds_.measure(entry);
    metadata_.reply(pin.client, pin.id, {pin.chunk},
                    wire::ChunkReply{.chunk = entry.chunk, .ended = pin.ended});
  }
}

void PinReplies::refuse(const Error& why, const std::optional<StoredName>& chunk) {
  std::vector<PinReply> refused;
  std::erase_if(waiting_, [&](const PinReply& pin) {
    const bool is_one = !chunk || pin.chunk == *chunk;
    if (is_one) refused.push_back(pin);
    return is_one;
  });
  for (const PinReply& pin : std::views::reverse(refused)) {
    const auto found = registry_.find_own(pin.chunk.tenant, pin.chunk.id);
    if (!found.ok()) {
      outbox_.reply_error(pin.client, pin.id, found.error());
      continue;
    }
    const bool gone = (*found)->chunk.pinned && undo(**found, pin);
    outbox_.reply_error(
        pin.client, pin.id,
        {why.code, "pinned",
         "its pages cannot be written, but a pin must outlive the daemon: " + why.message +
             (gone ? "; its time ended meanwhile, so the chunk was deleted" : "")});
  }
}

// Undoes what the request changed of the pinned chunk. True if that was the end of the chunk.
bool PinReplies::undo(ChunkEntry& entry, const PinReply& pin) {
  if (entry.chunk.holders == pin.after && !pin.before.holders.empty()) {
    entry.chunk.holders = pin.before.holders;
    entry.chunk.registrations = pin.before.registrations;
    const bool published = pin.before.published;
    if (entry.chunk.published != published) callbacks_.publish(entry, published);
    complete_holders(entry.chunk);
  } else {  // somebody else has changed it since
    change_unnamed(entry.chunk, {.pinned = false});
  }
  pass_holders_time(entry.chunk, clock_.wall_us());
  if (entry.chunk.holders.empty()) {
    callbacks_.remove(entry);
    return true;
  }
  pins_.follow_holders(entry);
  metadata_.put(entry.chunk);
  return false;
}

}  // namespace cascade
