// The recurrent states of one sequence in a job: addresses of their slots.
#pragma once

#include <optional>
#include <vector>

#include "cache/page_arena.h"
#include "model/slice.h"
#include "wire/messages.h"

namespace cascade {

// One thread at a time.
class JobStateSlots {
 public:
  // `states` are those of a job; nullopt: the model needs none, and `arena` is not looked at. The
  // arena outlives this.
  JobStateSlots(const PageArena* arena, const std::optional<wire::JobStates>& states);

  // Gives the slice, which has the next tokens of the job, its states. Those that are to be kept in
  // between belong to a job of one slice. The slice must not outlive this.
  void put_into(Slice& slice) const;
  // A pass has computed that slice: the next one goes on from the state after it.
  void advance() { from_ = to_; }

 private:
  const float* from_ = nullptr;
  float* to_ = nullptr;
  std::vector<KeptState> kept_;
};

}  // namespace cascade
