// What drafts and their checks cost on this machine, and so how many of them a round has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/attention_mode.h"
#include "base/draft_record.h"
#include "cache/kv_view.h"
#include "model/config.h"
#include "model/draft_length.h"

namespace cascade {

// The most drafts of a round.
inline constexpr int kDraftsMax = 15;

// Knows the times of passes over one sequence alone, each relative to the bytes that it reads: so a
// time is known for every position once it is known for one. Also knows how often drafts were right
// lately, in all generations. How many drafts a round has changes its speed, and nothing of its
// result. Functions that are const may run on several threads at a time.
class DraftPace {
 public:
  // `weight_bytes` is what a step reads of the weights. `config` must outlive this.
  DraftPace(const ModelConfig& config, const KvLayout& layout, size_t weight_bytes)
      : config_(config), layout_(layout), weight_bytes_(weight_bytes) {}

  // Returns how many drafts in the mode `drafts` the round has whose first token is at `position`:
  // at most kDraftsMax, and no more than one reading of K and V can check. 0 where nothing selects.
  // `alone`: no other sequence is decoded with it. Then it is 0 now and then, so that a dense step
  // is measured, and at least 1 after many dense steps, so that a check is.
  int drafts(const DraftRecord& record, const AttentionMode& drafts, int64_t position,
             bool alone) const;

  // Notes that a pass over one sequence, in `mode`, took `us` microseconds. It fed `rows` tokens,
  // the first one at `position`.
  void note(const AttentionMode& mode, int rows, int64_t position, int64_t us);

  // Notes that `accepted` drafts of a generation were right, and that `rejected` checks ended at a
  // wrong one.
  void note_drafts(int64_t accepted, int64_t rejected);

  // Every round has `drafts` drafts from now on, where something selects. For tests.
  void fix(int drafts) { fixed_ = drafts; }

  // As they are known so far.
  DraftCosts costs(const AttentionMode& drafts, int64_t position) const;

 private:
  double bytes(const AttentionMode& mode, int64_t position) const;

  const ModelConfig& config_;
  const KvLayout layout_;
  const size_t weight_bytes_;
  double dense_us_ = 0;     // for each byte; 0: not measured yet
  double draft_us_ = 0;     // the same
  double check_row_ = 0.2;  // as in DraftCosts; not measured at first
  int checks_ = 0;          // since a dense step was measured
  int dense_steps_ = 0;     // since a check was measured
  int fixed_ = -1;          // -1: not fixed
  // These count the last drafts, as in DraftRecord. At first, most are expected to be right.
  double accepted_ = 16;
  double rejected_ = 4;
};

}  // namespace cascade
