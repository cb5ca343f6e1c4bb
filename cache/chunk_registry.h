// The chunks of all tenants: ids, look-ups, duplicates. Metadata only: the chain index has K and V.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/chunk.h"
#include "base/result.h"
#include "cache/chain_index.h"
#include "cache/tenant_parts.h"

namespace cascade {

// A chunk, and what only this process knows about it.
struct ChunkEntry {
  Chunk chunk;
  uint64_t sequence = 0;         // order of creation
  size_t bytes = 0;              // what counts against the tenant's limit
  std::vector<int32_t> chain;    // the token ids whose K and V the chunk stands for; may be empty
  size_t own_begin = 0;          // where in the chain the chunk's own tokens begin
  AttentionMode attention = {};  // in which the chain's K and V are computed
  std::optional<ChainIndex::HoldId> hold;         // gives the chain's pages the chunk's priority
  std::optional<ChainIndex::HoldId> public_hold;  // the same for the copies that every tenant finds
  bool holders_guessed = false;                   // the stored chunk named no holders
  // The time under which the registry has listed the chunk; 0: not listed. Only the registry uses
  // it.
  int64_t time_listed_us = 0;
};

// Every look-up names the tenant: the id of another tenant's chunk is "not found", unless that
// chunk is published. A chunk lives as long as one of its holders (cache/holders.h). Once
// set_time() says that its time is over, it is no longer found, and due() lists it for removal. One
// thread.
class ChunkRegistry {
 public:
  // The largest number of chunks of one tenant: it stops a client that never deletes before
  // metadata fills the memory.
  static constexpr size_t kChunksMax = 100'000;
  // The most bytes that the texts and token ids of all chunks may take. Each tenant has a part of
  // them (tenant_parts.h).
  static constexpr size_t kBytesMax = size_t{512} << 20;
  // The number of removed ids remembered for each tenant, to say what became of them.
  static constexpr size_t kGoneMax = 1000;

  explicit ChunkRegistry(size_t bytes_max = kBytesMax) : bytes_(static_cast<int64_t>(bytes_max)) {}

  // Sets the current time, Unix time. It may go back.
  void set_time(int64_t wall_us) { now_us_ = wall_us; }

  // Adds `chunk` (id, tenant and content_hash set). If it has no holders, it gets a retention with
  // its own terms. If the tenant already has a chunk of the same type and content hash, that chunk
  // is returned instead: it counts one more registration, gets the holders, and gets the parents if
  // they are at least as many as it has. Errors: kResourceExhausted, field "chunks", beyond
  // kChunksMax or the tenant's part of bytes_max; those of add_holder(). Nothing is changed then.
  Result<ChunkEntry*> add(Chunk chunk);
  // Adds a chunk that was stored, as add() does, but without the limits: the chunk was within them
  // when it was first added. Errors: those of add_holder().
  Result<ChunkEntry*> restore(Chunk chunk);

  // The tenant's chunk of the same type and content hash, or nullptr.
  ChunkEntry* same_content(const Chunk& chunk);

  // The chunk with this id, or the only one whose id begins with it (>= 8 characters): the tenant's
  // own, or a published one. Errors: kNotFound, field "id"; kInvalidArgument if the beginning is
  // ambiguous.
  Result<ChunkEntry*> find(std::string_view tenant, std::string_view id);
  // As find(), for callers that change the chunk. Also kConflict, field "id", if another tenant has
  // published it.
  Result<ChunkEntry*> find_own(std::string_view tenant, std::string_view id);

  // Returns why find_own() does not find the chunk with this whole id: kExpired, or kDeleted, also
  // when the reason is no longer remembered.
  Removal why_gone(std::string_view tenant, std::string_view id) const;

  // Removes the chunk and returns it. Errors as find_own().
  Result<ChunkEntry> remove(std::string_view tenant, std::string_view id);
  // Removes an entry of this registry and returns it; `why` is what look-ups say afterwards.
  ChunkEntry remove(ChunkEntry& entry, Removal why);

  // Up to `limit` chunks of the tenant and published ones, newest first, after the chunk `after`
  // (empty: from the newest); `more` says whether others follow. Errors: kNotFound, field "after".
  struct Page {
    std::vector<ChunkEntry*> entries;
    bool more = false;
  };
  Result<Page> list(std::string_view tenant, std::optional<ChunkType> type, size_t limit,
                    std::string_view after);

  // Must be called when holders of an entry have changed.
  void reschedule(ChunkEntry& entry);
  void publish(ChunkEntry& entry, bool published);

  // Up to `count_max` entries for which pass_holders_time() has something to do; the longest
  // overdue first.
  std::vector<ChunkEntry*> due(size_t count_max) const;

  size_t count(bool outputs) const;
  size_t bytes_max() const { return static_cast<size_t>(bytes_.amount()); }
  // All entries in order of creation.
  std::vector<ChunkEntry*> all();
  // The entries of one tenant, or of all (nullopt), in any order. `visit` changes no id, tenant or
  // content.
  void for_each(std::optional<std::string_view> tenant,
                const std::function<void(ChunkEntry&)>& visit);

 private:
  using BySequence = std::map<uint64_t, ChunkEntry*, std::greater<>>;  // newest first
  using Times = std::map<std::pair<int64_t, uint64_t>, ChunkEntry*>;   // time, sequence
  struct Tenant {
    std::map<std::string, ChunkEntry, std::less<>> by_id;
    // Entries by type and hash, oldest first. A key has several entries only if all but one of them
    // have expired and are still to be removed. (After the clock went back, these may be valid
    // again.)
    std::multimap<std::string, ChunkEntry*> by_content;
    BySequence by_sequence;
    std::map<std::string, Removal, std::less<>> gone;
    std::deque<std::string> gone_order;  // oldest first
  };

  ChunkEntry* insert(Chunk&& chunk);
  Result<ChunkEntry*> register_again(Chunk& chunk);
  void adopt_parents(ChunkEntry& entry, std::vector<std::string>&& parent_ids);
  bool visible(const ChunkEntry& entry) const;
  Error why_missing(const Tenant* tenant, std::string_view id) const;
  void relist(ChunkEntry& entry, int64_t time_us);

  std::map<std::string, Tenant, std::less<>> tenants_;
  std::map<std::string, ChunkEntry*, std::less<>> published_;  // by id
  BySequence published_by_sequence_;
  Times times_;
  uint64_t next_sequence_ = 1;
  size_t inputs_ = 0;
  size_t outputs_ = 0;
  TenantParts bytes_;  // as of adding; later token ids are estimated from the text
  int64_t now_us_ = 0;
};

// The content hash. For an input chunk it covers type and text; for an output also the turn that it
// answers, `prompt`, the tokens that it was generated from, and the attention mode. So equal
// answers in two conversations are two chunks: their K and V differ. The hash of an output with
// client_data is unique.
std::string chunk_content_hash(const Chunk& chunk, std::span<const int32_t> prompt = {},
                               const AttentionMode& attention = {});

}  // namespace cascade
