// Slots have the alignment of pages, which is more than floats need.
#include "actors/job_state_slots.h"

#include "base/check.h"

namespace cascade {

JobStateSlots::JobStateSlots(const PageArena* arena, const std::optional<wire::JobStates>& states) {
  if (!states) return;
  CHECK(arena != nullptr && states->kept_after.size() == states->kept.size());
  const auto at = [&](uint32_t slot) { return reinterpret_cast<float*>(arena->data(slot)); };
  if (states->from) from_ = at(*states->from);
  to_ = at(states->to);
  for (size_t i = 0; i < states->kept.size(); ++i) {
    kept_.push_back({states->kept_after[i], at(states->kept[i])});
  }
}

void JobStateSlots::put_into(Slice& slice) const {
  slice.state_from = from_;
  slice.state_to = to_;
  slice.kept_states = kept_;
}

}  // namespace cascade
