// Clients that wait for a pin.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/keep/chunk_holds.h"
#include "actors/scheduler/keep/chunk_pins.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/scheduler_work.h"
#include "actors/scheduler/store_work.h"
#include "base/clock.h"
#include "base/result.h"
#include "cache/chunk_registry.h"

namespace cascade {

// One thread. A pin outlives the daemon: what the disk does not have of its pages is written first,
// in the place of others, and the client hears of it when that is done, or cannot be.
class PinReplies {
 public:
  struct Callbacks {
    // Every tenant finds the chunk from now on, or no longer.
    std::function<void(ChunkEntry&, bool published)> publish;
    // Nothing holds the chunk any more.
    std::function<void(ChunkEntry&)> remove;
  };

  // With `keeps_pages` false nobody waits. The references outlive this.
  PinReplies(bool keeps_pages, const Clock& clock, Outbox& outbox, MetadataWriter& metadata,
             ChunkRegistry& registry, PageWriter& writer, ChunkHolds& holds, ChunkPins& pins,
             Callbacks callbacks);

  // Answers a change of the chunk. One that `pins` it waits until its pages are on disk; a further
  // pin of a chunk whose pin was answered promises nothing that is new.
  void reply(ChunkEntry& entry, PinReply&& change, bool pins);
  // Whether a client waits for the chunk.
  bool is_awaited(const StoredName& chunk) const;
  // Answers the clients that need not wait any more. Has the pages of the others written, unless
  // they are on their way to the disk.
  void answer();
  // The pages of pins that clients wait for, of all or of one chunk, will not be on the disk soon:
  // undoes what these requests changed, the latest first. What only such a pin had kept is over.
  void refuse(const Error& why, const std::optional<StoredName>& chunk = {});
  // Refuses all that wait, and all that come.
  void stop();

 private:
  bool undo(ChunkEntry& entry, const PinReply& pin);

  const bool keeps_pages_;
  const Clock& clock_;
  Outbox& outbox_;
  MetadataWriter& metadata_;
  ChunkRegistry& registry_;
  PageWriter& writer_;
  ChunkHolds& holds_;
  ChunkPins& pins_;
  const Callbacks callbacks_;
  std::vector<PinReply> waiting_;
  bool stopping_ = false;
};

}  // namespace cascade
