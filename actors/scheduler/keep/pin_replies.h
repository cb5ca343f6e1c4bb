// Replies to clients that wait for a pin.
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

// One thread. A pin outlives the daemon: its pages that the disk does not have are written first,
// in the place of others. The client is told when that is done, or cannot be done.
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

  // Answers a change of the chunk. A change that `pins` the chunk is answered when the chunk's
  // pages are on disk. If an earlier pin of the chunk was answered already, a further pin promises
  // nothing new and does not wait.
  void reply(ChunkEntry& entry, PinReply&& change, bool pins);
  // Whether a client waits for the chunk.
  bool is_awaited(const StoredName& chunk) const;
  // Answers the clients that need not wait any more. Has the pages of the other pins written,
  // unless they are on their way to the disk.
  void answer();
  // Refuses the requests of clients that wait for a pin of `chunk` (without it, of any chunk),
  // whose pages will not be on the disk soon. Undoes what these requests changed, the latest first.
  // Chunks that only such a pin had kept are removed.
  void refuse(const Error& why, const std::optional<StoredName>& chunk = {});
  // Refuses all clients that wait, and all that come later.
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
