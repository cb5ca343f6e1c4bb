// Gives memory that no request needs back to the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "cache/page_arena.h"
#include "cache/page_pool.h"

namespace cascade {

// One thread. Page contents are not looked at: free pages have none.
class IdleMemory {
 public:
  // How long a page must have been free before it is given back. Not sooner: in a measurement,
  // taking a page of 4 MB again cost 10 ms of page faults, and giving it back 0.04 ms.
  static constexpr int64_t kIdleUs = 10'000'000;

  // All outlive this.
  IdleMemory(PagePool& pool, const PageArena& arena, const Clock& clock)
      : pool_(pool), arena_(arena), clock_(clock) {}

  // Call several times a second.
  void give_back() {
    const int64_t now = clock_.monotonic_us();
    if (now - marked_us_ < kIdleUs) return;
    const std::vector<PageIndex> idle = pool_.take_idle(kAtOnceMax);
    for (const PageIndex page : idle) arena_.discard(page);
    if (!idle.empty()) return;  // the next call has the rest
    marked_us_ = now;
    pool_.mark_idle();
  }

 private:
  static constexpr size_t kAtOnceMax = 256;  // takes 10 ms

  PagePool& pool_;
  const PageArena& arena_;
  const Clock& clock_;
  int64_t marked_us_ = 0;  // when the free pages began to count as idle
};

}  // namespace cascade
