// How a sequence begins with what the caches have of its chain, and what it leaves to them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "cache/chain_index.h"
#include "cache/chain_sequence.h"
#include "cache/page_arena.h"
#include "cache/page_pool.h"
#include "cache/running_state.h"
#include "cache/state_table.h"

namespace cascade {

// All outlive the sequences that use them.
struct ChainCaches {
  ChainIndex& index;
  PagePool& pool;
  const PageArena& arena;
  StateTable& states;
};

// Pages and recurrent state of one sequence. Both are at the same token unless a job of the
// sequence is under way.
struct StartedChain {
  std::unique_ptr<ChainSequence> sequence;
  std::unique_ptr<RunningState> recurrent;
};

struct ChainStartOptions {
  ChainIndex::Use use = ChainIndex::Use::kMemory;
  bool observed = true;  // as in ChainIndex::touch()
  // Is given the sequence before it reuses anything; may be empty.
  std::function<void(ChainSequence&)> prepare = {};
};

// All functions: on the thread of the caches.

// Begins a sequence with the longest beginning of `tokens` that it can go on from: the pages are in
// memory, and so is the state if the model needs one. Room for its own state may cost others their
// checkpoints. nullopt, and nothing has changed, if there is no such room.
std::optional<StartedChain> start_chain(const ChainCaches& caches, TenantId tenant,
                                        std::span<const int32_t> tokens,
                                        const ChainStartOptions& options, int64_t now_us);

// The sequence's job has computed K, V and state of `tokens`, the next ones.
void advance_chain(ChainSequence& sequence, RunningState& recurrent,
                   std::span<const int32_t> tokens, int64_t now_us);

// The sequence ends: its pages are left to the index, and the states that were to be kept become
// checkpoints. Idempotent.
void finish_chain(ChainSequence& sequence, RunningState& recurrent, int64_t now_us);

}  // namespace cascade
