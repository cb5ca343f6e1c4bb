// Which chains have the state of their recurrent layers kept after some of their tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "cache/chain_index.h"
#include "cache/page_pool.h"

namespace cascade {

// A model with recurrent layers goes on from a token only with the state after it, and a state
// cannot be cut. So states are kept as *checkpoints*, in slots of memory that do not change while a
// checkpoint has them. A sequence begins at a checkpoint of its chain and computes the tokens after
// it, also those whose K and V are in pages.
//
// A checkpoint exists only while the index has a node for each page of its chain. So whatever
// removes tokens from the index (an eviction, a delete) also removes the states that they are in.
// sweep() does that; call it after anything that may have removed nodes, before the next find().
//
// Slots have references: of the table for its checkpoints, of sequences for the states that they
// read and write (RunningState). One thread.
class StateTable {
 public:
  using Slot = PageIndex;

  // What a checkpoint is worth when slots are needed.
  enum class Worth {
    kWaypoint,  // on the way through a prompt: dropped first, unless a sequence has begun there
    kEnd,       // where a later prompt probably goes on
  };
  struct Counts {
    size_t checkpoints = 0;
    uint64_t dropped = 0;  // to make room
  };

  // There is memory for `slots` states; 0: the model has no recurrent layers. `index` outlives
  // this.
  StateTable(size_t slots, const ChainIndex& index);
  StateTable(const StateTable&) = delete;
  StateTable& operator=(const StateTable&) = delete;

  bool is_needed() const { return pool_.page_count() > 0; }

  // Where a sequence can begin.
  struct Start {
    int64_t tokens = 0;
    std::optional<Slot> slot = {};  // of the state after these tokens; nullopt: there is none yet
  };
  // The longest beginning of `tokens` that is in memory with the state after it. If the model needs
  // no states, all of `tokens`.
  Start find(TenantId tenant, std::span<const int32_t> tokens) const;
  // The same beginning of `tokens`.
  std::span<const int32_t> reusable(TenantId tenant, std::span<const int32_t> tokens) const;
  // Notes that a sequence begins with the checkpoint in this slot.
  void touch(Slot slot, int64_t now_us);

  // Keeps the state in `slot`, that after `tokens`, with a reference of its own. Does nothing if
  // the chain has a checkpoint there. False if the index does not have all of `tokens` in memory.
  bool keep(TenantId tenant, std::span<const int32_t> tokens, Slot slot, Worth worth,
            int64_t now_us);
  // A checkpoint that is not known to be on disk: the state after the page or root `page` and
  // `tail`, fewer tokens than a page has.
  struct Unstored {
    const Digest& page;
    TenantId tenant;
    std::span<const int32_t> tail;
    Slot slot;
  };
  // Gives checkpoints of Worth::kEnd to `visit`, as long as it returns true. `visit` must not
  // change the table.
  void visit_unstored(const std::function<bool(const Unstored&)>& visit) const;
  // Changes whenever visit_unstored() may give a checkpoint that it has not given before.
  uint64_t unstored_changes() const { return unstored_changes_; }
  // Notes that the checkpoint in this slot is on disk. The note ends when a sequence begins with
  // the checkpoint: then it is worth writing once more, if the disk has lost it.
  void mark_stored(Slot slot);

  // Drops the checkpoints whose tokens the index does not have any more.
  void sweep();

  // Returns a slot with one reference, whose memory may hold anything. If none is free, drops the
  // checkpoint that has been unused for longest: waypoints first, and those of pinned chains last;
  // only waypoints if `most` says so. nullopt: there is none that no sequence uses.
  std::optional<Slot> allocate(Worth most = Worth::kEnd);
  // Whether a sequence can begin: allocate() would return a slot, or no states are needed.
  bool has_room() const;
  void retain(Slot slot) { pool_.retain(slot); }
  void release(Slot slot) { pool_.release(slot); }
  // Whether somebody else has a reference, too: then the memory must not change.
  bool is_shared(Slot slot) const { return pool_.references(slot) > 1; }
  // Drops the checkpoint in this slot, if there is one.
  void drop(Slot slot);

  // For IdleMemory: nobody else allocates or releases.
  PagePool& memory() { return pool_; }
  size_t slots() const { return pool_.page_count(); }
  size_t slots_used() const { return pool_.used_count(); }
  const Counts& counts() const { return counts_; }

 private:
  struct Checkpoint {
    TenantId tenant;
    std::vector<int32_t> tail;  // the tokens after the page
    Slot slot;
    Worth worth;
    int64_t last_used_us;
    bool is_stored = false;
  };
  using Checkpoints = std::vector<Checkpoint>;

  std::vector<const Checkpoint*> reached(const Digest& page, TenantId tenant,
                                         std::span<const int32_t> tokens) const;
  Checkpoint* in_slot(Slot slot);
  template <class Drops>
  void drop_if(const Drops& drops);
  const Checkpoint* least_worth() const;
  const ChainIndex::Node* node_of(const Digest& page, const Checkpoint& checkpoint) const;
  bool is_pinned(const Digest& page, const Checkpoint& checkpoint) const;

  const ChainIndex& index_;
  PagePool pool_;
  std::unordered_map<Digest, Checkpoints> by_page_;  // by the last whole page before them, or root
  uint64_t losses_swept_ = 0;                        // ChainIndex::losses() at the last sweep
  uint64_t unstored_changes_ = 0;
  Counts counts_;
};

}  // namespace cascade
