// The chains that chunks' K and V are computed from, as the store knows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/store_work.h"
#include "actors/scheduler/tenants.h"
#include "base/chunk.h"
#include "base/hash.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

// One thread. The store has the tokens of a chain from the moment they are known. Until the K and V
// are on disk or given up, they are `pending` in the store: after a crash they are computed again.
class ChunkChains {
 public:
  // The store has read a chain. The chain has no tokens if the store does not have it.
  using IsRead = std::function<void(const ChainWanted&, wire::StoredChain&&)>;

  // `model` is the root key of the chains. With `keeps_pages` false the store is told of no chain
  // and keep() does nothing. The references outlive this.
  ChunkChains(bool keeps_pages, std::string model, Jobs& jobs, Outbox& outbox, Tenants& tenants,
              StoredPages& stored, PageWriter& writer, MetadataWriter& metadata, IsRead is_read);

  // Stores the chain that the chunk's K and V are computed from; the chunk's own tokens come after
  // its first `begin_tokens`. Does nothing if K and V of the chunk's mode are not on disk.
  void store(const ChunkEntry& entry, std::span<const int32_t> chain, size_t begin_tokens,
             bool pending);
  // The same, of a chain in another mode than the chunk's present one.
  void store(const ChunkEntry& entry, const AttentionMode& mode, std::span<const int32_t> chain,
             size_t begin_tokens, bool pending);
  // The chunk's K and V are on disk, or will not be.
  void settle(const StoredName& chunk);
  // Has the chunk's chain written, if all of it is in memory. From then on the chunk knows the
  // chain's last page; the chunk is settled when the chain is on disk.
  void keep(ChunkEntry& entry);
  // All pages of the chains that end with this page are on disk.
  void note_written(const Digest& end);
  // The page with the name `key` on disk is the chunk's last one from now on; empty: the chunk has
  // none.
  void set_end(ChunkEntry& entry, const std::string& key);

  // Asks the store for the tokens of the chain, and asks again if the store is restarted.
  void read(ChainWanted&& wanted);
  void on(wire::StoredChain&& chain);

 private:
  const bool keeps_pages_;
  const std::string model_;
  Jobs& jobs_;
  Outbox& outbox_;
  Tenants& tenants_;
  StoredPages& stored_;
  PageWriter& writer_;
  MetadataWriter& metadata_;
  const IsRead is_read_;
  std::map<Digest, std::set<StoredName>> unwritten_;  // chunks, by the last pages of their chains
  PendingJobs<ChainWanted> reading_;
};

}  // namespace cascade
