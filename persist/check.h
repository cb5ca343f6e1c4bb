// Finds out whether everything that is stored is intact, and does what can be done about damage.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "persist/finding.h"
#include "persist/store.h"

namespace cascade {

// Reads and verifies the whole of an open store, a part at a time, so that others can use the store
// in between. One thread.
class Check {
 public:
  enum class Mode {
    kReport,  // changes nothing (except for Store::commit())
    kRepair,  // forgets what is damaged, corrects counters, makes indexes anew
  };

  // `store` must outlive this. `owners`: also checks that every page belongs to something that is
  // kept. This can be told only if all chunks are intact.
  Check(Store& store, Mode mode, bool owners) : store_(store), mode_(mode), owners_(owners) {}

  // Checks the database first, in one step; then pages, about `bytes_max` bytes in each step.
  // Commits before and after. True if there is more to do.
  // Errors: as Store::commit(). Anything that cannot be read is a finding.
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
