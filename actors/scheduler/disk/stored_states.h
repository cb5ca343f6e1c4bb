// The states of recurrent layers that the store has, by their names, and how they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/tenants.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "cache/chain_index.h"
#include "cache/disk_index.h"
#include "cache/state_table.h"
#include "wire/messages.h"

namespace cascade {

// A state on disk is named like a page that ends with it. It is written when the store has a page
// with its last tokens. The store removes it with the last such page, whatever removes the page.
//
// One thread. States are written one at a time, after the pages. A name here may be out of date:
// then the store answers that it does not have the state.
class StoredStates {
 public:
  // With `keeps_states` false nothing is written. The references outlive this.
  StoredStates(bool keeps_states, const Clock& clock, Jobs& jobs, Outbox& outbox,
               const ChainIndex& index, const Tenants& tenants, StateTable& states,
               const StoredPages& pages);

  // Takes over what an earlier daemon has stored.
  void load(const wire::StoredPages& stored);

  // A state on disk that a chain can go on from.
  struct Found {
    int64_t tokens = 0;         // before the state; 0: there is none
    Digest key;                 // of the state
    std::vector<Digest> pages;  // whole ones before the state that are on disk and not in memory
  };
  // The deepest state on disk after more than `more_than` of `tokens`. All pages before it are in
  // memory (`in_memory` is what the index has of `tokens`) or on disk. If the state is in the
  // middle of a page, that page may be in neither place: the store has it as long as it has the
  // state.
  Found find(TenantId owner, std::span<const int32_t> tokens, const ChainIndex::Match& in_memory,
             int64_t more_than) const;
  // The store does not have the state.
  void lose(const Digest& key) { states_.remove(key); }

  // Asks the store to write the next state, unless it is writing one.
  void write_next();
  bool is_writing() const { return !writing_.empty(); }
  // Nothing is under way, and nothing is left that could be written.
  bool is_idle() const;
  // Why states cannot be written; nullopt: they can.
  const std::optional<Error>& error() const { return error_; }

  void on(const wire::StateStored& done);
  void on(const wire::StatesForgotten& forgotten);

  // The number of states on disk.
  size_t count() const { return states_.size(); }
  int64_t written() const { return written_; }

 private:
  struct Name {
    Digest key, parent;
    TenantId owner;
    int64_t position;
    std::vector<int32_t> tokens;
  };
  struct Writing {
    Name name;
    StateTable::Slot slot;  // referenced
  };
  // As long as the version stays the same, there is nothing new to write.
  using Version = std::pair<uint64_t, int64_t>;

  Version version() const;
  bool may_be_covered(const StateTable::Unstored& state) const;
  std::optional<Name> name_of_state(const StateTable::Unstored& state) const;
  void send(Name&& name, StateTable::Slot slot);

  const bool keeps_states_;
  const Clock& clock_;
  Jobs& jobs_;
  Outbox& outbox_;
  const ChainIndex& index_;
  const Tenants& tenants_;
  StateTable& table_;
  const StoredPages& pages_;
  DiskIndex states_;
  PendingJobs<Writing> writing_;
  std::set<Digest> refused_;         // until more pages are written, or all others are
  bool retries_ = false;             // the disk has refused some of them
  int64_t refused_pages_ = 0;        // the pages that had been written when refused_ began
  std::optional<Version> searched_;  // nothing was left to write
  std::optional<Error> error_;
  int64_t write_after_us_ = 0;  // monotonic time before which nothing is written
  int64_t written_ = 0;
};

}  // namespace cascade
