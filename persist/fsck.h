// A check with a result for people: what is wrong, and what of that was repaired.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "persist/check.h"
#include "persist/store.h"

namespace cascade {

// Checks an open store, a part at a time, so that others can use the store in between. After a
// repair that had something to do, a second pass checks again. One thread.
class Fsck {
 public:
  struct Found {
    Finding finding;
    bool repaired = false;
  };

  // `store` must outlive this.
  Fsck(Store& store, bool repair);

  // As Check::step().
  Result<bool> step(uint64_t bytes_max);

  // Everything that was wrong, in the order in which it was found. Call it when the check is done.
  std::vector<Found> found() const;
  // The pages that were verified so far (with a repair: by its first pass), and their bytes.
  uint64_t pages() const { return pages_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Store& store_;
  const bool repair_;
  Check first_;
  std::optional<Check> second_;
  const uint64_t pages_before_;
  const uint64_t bytes_before_;
  uint64_t pages_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace cascade
