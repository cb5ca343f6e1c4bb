// The recurrent state of one running sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cache/chain_sequence.h"
#include "cache/state_table.h"

namespace cascade {

// A place in a chain where the state is to be kept.
struct KeptPoint {
  int64_t position;  // the tokens before it
  StateTable::Worth worth;
  bool operator==(const KeptPoint&) const = default;
};

// Each job of the sequence reads the state before its tokens from one slot, and writes the state
// after them to another one, or to the same if nobody else needs the state before. States that are
// to be kept wait until the index has their tokens; then they become checkpoints. One thread.
class RunningState {
 public:
  using Slot = StateTable::Slot;

  // `table` outlives this. Until begin(), there is no state.
  explicit RunningState(StateTable& table) : table_(table) {}
  // Gives up all slots. No job may be under way.
  ~RunningState();
  RunningState(const RunningState&) = delete;
  RunningState& operator=(const RunningState&) = delete;

  // The sequence begins at `start`, which is what find() returns now. Takes a slot for what it
  // computes: if sequences use all others, that of the checkpoint, which is dropped. False if there
  // is none, as StateTable::has_room() says before. If no states are needed, there is nothing to
  // do, here and in all that follows.
  bool begin(const StateTable::Start& start, int64_t now_us);

  struct Kept {
    KeptPoint point;
    Slot slot;
  };
  // The slots of a job.
  struct Slots {
    std::optional<Slot> from;  // nullopt: there is no state before the first token
    std::optional<Slot> to;    // nullopt: no states are needed
    // Ascending; those points for which there is room without dropping a state of greater worth.
    std::vector<Kept> kept;
  };
  // Chooses the slots of the next job, which computes the tokens up to `end`; `points`, in
  // ascending order, are after its first token and at most at `end`. nullopt: there is no room.
  // Call advanced() when the job is done; if it fails, there is no state any more.
  std::optional<Slots> next_job(int64_t end, std::span<const KeptPoint> points = {});
  // The job has computed the tokens up to `end`, which may be fewer than were planned if the job
  // keeps no states.
  void advanced(int64_t end);
  // The present state is to be kept. Does nothing if there is none, or a job is under way.
  void keep(StateTable::Worth worth);

  // Makes checkpoints of the kept states whose tokens the index has. Call it after the tokens were
  // committed, and after the sequence has finished.
  void settle(const ChainSequence& sequence, int64_t now_us);

 private:
  bool take_current();

  StateTable& table_;
  int64_t position_ = 0;
  std::optional<Slot> current_;  // the state at position_; nullopt: there is none yet
  std::optional<Slot> target_;   // where the next state is written; nullopt: to current_
  bool in_job_ = false;
  std::vector<Kept> job_kept_;  // of the job that is under way
  std::vector<Kept> pending_;   // until the index has their tokens
};

}  // namespace cascade
