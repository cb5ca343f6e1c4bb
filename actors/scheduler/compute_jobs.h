// What jobs for prefill and decode have in common.
#pragma once

#include <cstdint>

#include "cache/attention_pages.h"
#include "cache/chain_sequence.h"
#include "cache/running_state.h"
#include "wire/messages.h"

namespace cascade {

// Names the sequence's pages and its memory for indexes. `Job` is a PrefillJob or a sequence of a
// DecodeJob.
template <class Job>
void put_pages(const ChainSequence& sequence, Job& job) {
  job.pages = sequence.pages();
  job.index_memory = sequence.indexes().pages;
  job.indexed_pages = sequence.indexes().count;
  job.free_positions = sequence.free_positions();
}

// Names the slots of the sequence's recurrent states, which `slots` are for this job.
template <class Job>
void put_states(const RunningState::Slots& slots, Job& job) {
  if (!slots.to) return;
  wire::JobStates& states = job.states.emplace();
  states.from = slots.from;
  states.to = *slots.to;
  for (const RunningState::Kept& kept : slots.kept) {
    states.kept_after.push_back(static_cast<int32_t>(kept.point.position - job.position));
    states.kept.push_back(kept.slot);
  }
}

// Returns where in a dense prompt a slice takes as long: a token that sees less than all tokens
// before it takes as long as an earlier one.
inline int64_t depth_of(const wire::PrefillJob& job, int layers) {
  return static_cast<int64_t>(
      attention_work(job.attention, layers, job.position, job.position + 1));
}

}  // namespace cascade
