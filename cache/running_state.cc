// A reference for each slot that the sequence uses.
#include "cache/running_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cascade {

RunningState::~RunningState() {
  if (current_) table_.release(*current_);
  if (target_) table_.release(*target_);
  for (const std::vector<Kept>* list : {&job_kept_, &pending_}) {
    for (const Kept& kept : *list) table_.release(kept.slot);
  }
}

bool RunningState::begin(const StateTable::Start& start, int64_t now_us) {
  if (!table_.is_needed()) return true;
  CHECK(!current_ && !target_);
  // Before room is made: that could drop the checkpoint.
  if (start.slot) table_.retain(*start.slot);
  current_ = start.slot;
  position_ = start.tokens;
  if (start.slot) table_.touch(*start.slot, now_us);
  target_ = table_.allocate();
  return target_ || take_current();
}

// Drops the checkpoint of the present state, so that this sequence can write to its slot: that it
// goes on is worth more. False if another sequence uses the slot, too, or there is no state.
bool RunningState::take_current() {
  if (!current_) return false;
  std::erase_if(pending_, [&](const Kept& kept) {
    if (kept.slot != *current_) return false;
    table_.release(kept.slot);
    return true;
  });
  table_.drop(*current_);
  return !table_.is_shared(*current_);
}

std::optional<RunningState::Slots> RunningState::next_job(int64_t end,
                                                          std::span<const KeptPoint> points) {
  if (!table_.is_needed()) return Slots();
  CHECK(!in_job_ && end > position_);
  const auto must_stay = [&] { return !current_ || table_.is_shared(*current_); };
  if (!target_ && must_stay()) target_ = table_.allocate();
  if (!target_ && must_stay() && !take_current()) return std::nullopt;
  for (const KeptPoint& point : points) {
    CHECK(point.position > position_ && point.position <= end);
    if (const auto slot = table_.allocate(point.worth)) job_kept_.push_back({point, *slot});
  }
  in_job_ = true;
  return Slots{current_, target_ ? target_ : current_, job_kept_};
}

void RunningState::advanced(int64_t end) {
  if (!table_.is_needed()) return;
  CHECK(in_job_ && end > position_);
  in_job_ = false;
  position_ = end;
  if (target_) {
    if (current_) table_.release(*current_);
    current_ = std::exchange(target_, std::nullopt);
  }
  pending_.insert(pending_.end(), job_kept_.begin(), job_kept_.end());
  job_kept_.clear();
}

void RunningState::keep(StateTable::Worth worth) {
  if (!current_ || in_job_) return;
  table_.retain(*current_);
  pending_.push_back({{position_, worth}, *current_});
}

void RunningState::settle(const ChainSequence& sequence, int64_t now_us) {
  std::erase_if(pending_, [&](const Kept& kept) {
    const auto tokens =
        std::span(sequence.tokens()).first(static_cast<size_t>(kept.point.position));
    if (!table_.keep(sequence.tenant(), tokens, kept.slot, kept.point.worth, now_us)) return false;
    table_.release(kept.slot);
    return true;
  });
}

}  // namespace cascade
