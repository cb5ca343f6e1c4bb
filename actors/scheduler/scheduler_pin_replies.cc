// Clients that wait for a pin. A pin outlives the daemon: what the disk does not have of its pages
// is written first, in the place of others, and the client hears of it when that is done, or cannot
// be.
#include <algorithm>
#include <ranges>
#include <utility>

#include "actors/scheduler/scheduler_core.h"
#include "cache/holders.h"

namespace cascade {

// Answers a change of the chunk. One that pins it waits until its pages are on disk; a further pin
// of a chunk whose pin was answered promises nothing that is new.
void SchedulerCore::reply_to(ChunkEntry& entry, PinReply&& change, bool pins) {
  holds_.measure(entry);
  const bool was_pinned = std::ranges::any_of(change.before.holders, &Holder::pinned);
  const bool others_wait =
      std::ranges::find(pin_replies_, change.chunk, &PinReply::chunk) != pin_replies_.end();
  const bool waits = pins && options_.keep_pages && (!was_pinned || others_wait);
  if (!waits || pins_.is_on_disk(entry)) {
    wire::ChunkReply answer;
    answer.chunk = entry.chunk;
    answer.ended = std::move(change.ended);
    return metadata_.reply(change.client, change.id, {change.chunk}, std::move(answer));
  }
  change.after = entry.chunk.holders;
  pin_replies_.push_back(std::move(change));
  writer_.retry_now();
  answer_pins();
}

// Answers those that need not wait any more. Of the others, what is not on its way to the disk is
// sent there.
void SchedulerCore::answer_pins() {
  if (pin_replies_.empty()) return;
  if (stopping_since_us_) {
    return refuse_pins({ErrorCode::kUnavailable, "", "the daemon is stopping"});
  }
  for (const PinReply& pin : std::vector(pin_replies_)) {
    const auto found = registry_.find_own(pin.chunk.tenant, pin.chunk.id);
    if (!found.ok()) {
      refuse_pins(found.error(), pin.chunk);
      continue;
    }
    ChunkEntry& entry = **found;
    if (entry.chunk.pinned && !pins_.is_on_disk(entry)) {
      pins_.write(entry);
      continue;
    }
    std::erase_if(pin_replies_, [&](const PinReply& other) {
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

// The pages of pins that clients wait for, of all or of one chunk, will not be on the disk soon: so
// what these requests changed is undone, the latest first. What only such a pin had kept is over.
void SchedulerCore::refuse_pins(const Error& why, const std::optional<StoredName>& chunk) {
  std::vector<PinReply> refused;
  std::erase_if(pin_replies_, [&](const PinReply& pin) {
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
    ChunkEntry& entry = **found;
    bool gone = false;
    if (entry.chunk.pinned) {
      if (entry.chunk.holders == pin.after && !pin.before.holders.empty()) {
        entry.chunk.holders = pin.before.holders;
        entry.chunk.registrations = pin.before.registrations;
        const bool published = pin.before.published;
        if (entry.chunk.published != published) set_published(entry, published);
        complete_holders(entry.chunk);
      } else {  // somebody else has changed it since
        change_unnamed(entry.chunk, {.pinned = false});
      }
      pass_holders_time(entry.chunk, clock_.wall_us());
      gone = entry.chunk.holders.empty();
      if (gone) {
        remove_chunk(entry, Removal::kExpired);
      } else {
        pins_.follow_holders(entry);
        metadata_.put(entry.chunk);
      }
    }
    outbox_.reply_error(
        pin.client, pin.id,
        {why.code, "pinned",
         "its pages cannot be written, and a pin is to outlive the daemon: " + why.message +
             (gone ? "; its time was over meanwhile, so the chunk is gone" : "")});
  }
}

}  // namespace cascade
