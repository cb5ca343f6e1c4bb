// Brings the beginnings of chains back from disk, with the states that they go on from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "actors/scheduler/disk/page_loader.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/disk/stored_states.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "base/clock.h"
#include "base/hash.h"
#include "cache/chain_start.h"
#include "wire/messages.h"

namespace cascade {

// Pages without a state are of no use to a model with recurrent layers, so both are read before
// anything begins with them. They are read into memory that nobody else has. When all of it has
// been read, the caches get it, and the next sequence finds it there. If the state is in the middle
// of a page, the whole page comes back, also the tokens after the state.
//
// A restore uses nothing of the caches while it reads. At its end, the caches get a page only if it
// is still on disk: else it may have text that was deleted meanwhile. One thread.
class ChainRestores {
 public:
  struct Callbacks {
    // Whether the caches may get what was read for `handle`: somebody waits for it.
    std::function<bool(uint64_t handle)> is_wanted;
    // The restore has ended, and `tokens` tokens are in memory again: 0 if it failed.
    std::function<void(uint64_t handle, int64_t tokens)> ended;
  };

  // `state_bytes` is the size of one state. The references outlive this.
  ChainRestores(size_t state_bytes, const Clock& clock, Jobs& jobs, Outbox& outbox,
                const ChainCaches& caches, const StoredPages& stored, StoredStates& states,
                PageLoader& loader, Callbacks callbacks);

  // What can be brought back of a chain.
  struct Plan {
    StoredStates::Found state;
    int64_t in_memory = 0;  // how many of the tokens before the state need not be read
  };
  // Plans to bring back the deepest state that the chain can go on from. nullopt if there is none
  // on disk that is deeper than those in memory, or if computing is quicker than reading.
  std::optional<Plan> plan(TenantId owner, std::span<const int32_t> tokens) const;
  // Begins to read what was planned a moment ago. False if there is no room. Room may cost others
  // their pages and checkpoints. `handle` names the restore, and has none yet.
  bool start(uint64_t handle, TenantId owner, std::span<const int32_t> tokens, const Plan& plan);

  bool has(uint64_t handle) const { return restores_.contains(handle); }
  // The number of restores that have not ended.
  size_t count() const { return restores_.size(); }
  // The number of states that were brought back.
  int64_t restored() const { return restored_; }

  // For PageLoader::Loaded, if has(handle).
  bool loaded(uint64_t handle, std::span<const int32_t> tokens, bool more);
  void on(const wire::StateLoaded& done);

 private:
  struct Restore {
    TenantId owner;
    std::vector<int32_t> tokens;   // before the state
    Digest key;                    // of the state
    int64_t in_memory;             // as in Plan
    std::vector<PageIndex> pages;  // what is read goes there; referenced
    StateTable::Slot slot;         // referenced
    std::vector<Digest> keys;      // of the whole pages that are read
    int64_t read = 0;              // tokens in whole pages

    int64_t whole_pages_end() const { return std::ssize(tokens) / kPageTokens * kPageTokens; }
    // Whether the last page has to be read with the state.
    bool reads_last_page() const { return in_memory <= whole_pages_end() && has_short_page(); }
    bool has_short_page() const { return std::ssize(tokens) > whole_pages_end(); }
  };

  bool reserve_pages(Restore& restore);
  void ask_for_state(uint64_t handle, const Restore& restore);
  bool give_to_caches(const Restore& restore, std::span<const int32_t> last_page);
  void end(uint64_t handle, bool complete, std::span<const int32_t> last_page = {});

  const size_t state_bytes_;
  const Clock& clock_;
  Jobs& jobs_;
  Outbox& outbox_;
  const ChainCaches caches_;
  const StoredPages& stored_;
  StoredStates& states_;
  PageLoader& loader_;
  const Callbacks callbacks_;
  std::map<uint64_t, Restore> restores_;  // by handle
  PendingJobs<uint64_t> states_asked_;    // handles
  int64_t restored_ = 0;
};

}  // namespace cascade
