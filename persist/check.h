// Whether everything that is stored is as it was written; and what can be done if it is not.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "persist/finding.h"
#include "persist/store.h"

namespace cascade {

// Reads and verifies the whole of an open store, a part at a time, so that others can use it in
// between. One thread.
class Check {
 public:
  enum class Mode {
    kReport,  // changes nothing (but for Store::commit())
    kRepair,  // forgets what is damaged, corrects counters, makes indexes anew
  };

  // `store` must outlive this. `owners`: also checks that something that is kept accounts for every
  // page. This can be told only where all chunks are as they were written.
  Check(Store& store, Mode mode, bool owners) : store_(store), mode_(mode), owners_(owners) {}

  // The database first, which takes one step; then pages, about `bytes_max` bytes a step. Commits
  // before and after. True if there is more to do.
  // Errors: as Store::commit(); what cannot be read is a finding.
  Result<bool> step(uint64_t bytes_max);

  const Findings& findings() const { return findings_; }

 private:
  Status check_database();
  Status repair_database();

  Store& store_;
  Mode mode_;
  const bool owners_;
  bool database_done_ = false;
  PagePlace after_;
  Findings findings_;
};

}  // namespace cascade
