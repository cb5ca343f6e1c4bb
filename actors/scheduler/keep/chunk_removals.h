// The removal of chunks, from everywhere.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "actors/scheduler/disk/chunk_chains.h"
#include "actors/scheduler/disk/erasures.h"
#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/chunk_holds.h"
#include "actors/scheduler/keep/chunk_pins.h"
#include "actors/scheduler/keep/page_lifecycle.h"
#include "actors/scheduler/keep/text_pins.h"
#include "actors/scheduler/keep/text_uses.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request_table.h"
#include "actors/scheduler/store_work.h"
#include "actors/scheduler/tenants.h"
#include "base/chunk.h"
#include "base/result.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

// One thread. Work that is under way when a chunk is removed would put parts of it back, so the
// chunk's chains are looked for again when such work ends. The chunk's own row is removed last,
// when nothing else is left on the disk. Only then are the clients told that asked for the removal.
// A crash before that brings the chunk back, but nobody was told of its removal.
class ChunkRemovals {
 public:
  struct Callbacks {
    // The chunk's text is gone, so no prompt with that text is kept any more.
    std::function<void(const ChunkUses::ChunkName&)> text_is_gone;
    // The session's outputs are gone: its row is removed now.
    std::function<void(const StoredName&)> save_session;
  };

  // The references outlive this.
  ChunkRemovals(bool keeps_pages, Outbox& outbox, MetadataWriter& metadata, ChunkRegistry& registry,
                Tenants& tenants, const RequestTable& requests, Erasures& erasures,
                StoredPages& stored, PageWriter& writer, ChunkChains& chains, IdlePrefill& idle,
                TextUses& uses, TextPins& text_pins, ChunkHolds& holds, ChunkPins& pins,
                PageLifecycle& lifecycle, Callbacks callbacks);

  // Begins to remove the chunk, and returns it as it was. It is not found any more from here on.
  Chunk remove(ChunkEntry& entry, Removal why);
  // Answers when the chunks are gone from the disk and the changes of `names` are durable.
  void reply_when_gone(const Client& client, const wire::RequestId& id, std::set<StoredName> chunks,
                       std::vector<StoredName> names, wire::Message message);
  // A piece of work that the removal had to wait for has ended. The chains that the work `found`
  // have K and V of the chunk. Does nothing if the chunk is not being removed.
  void end_piece(const StoredName& chunk, std::vector<ErasedChain> found = {});
  // The store has answered a removal of pages, which the removal of the chunk `erased` waited for.
  void pages_are_removed(const std::optional<StoredName>& erased,
                         const std::optional<Error>& error);
  // The store has answered the removal of the chunk's row.
  void row_is_removed(const StoredName& chunk, const std::optional<Error>& error);
  // Begins failed removals again.
  void retry();

 private:
  void note_work_of(const StoredName& chunk, Erasure& erasure);
  void drop_reprefills(const StoredName& chunk, Removal why);
  void erase_chains(const StoredName& chunk, const Erasure& erasure);
  void advance(const StoredName& chunk);
  void fail(const StoredName& chunk, const Error& error);

  const bool keeps_pages_;
  Outbox& outbox_;
  MetadataWriter& metadata_;
  ChunkRegistry& registry_;
  Tenants& tenants_;
  const RequestTable& requests_;
  Erasures& erasures_;
  StoredPages& stored_;
  PageWriter& writer_;
  ChunkChains& chains_;
  IdlePrefill& idle_;
  TextUses& uses_;
  TextPins& text_pins_;
  ChunkHolds& holds_;
  ChunkPins& pins_;
  PageLifecycle& lifecycle_;
  const Callbacks callbacks_;
};

}  // namespace cascade
