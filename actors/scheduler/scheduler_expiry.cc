// Time passes: holders and leases end.
#include "actors/scheduler/scheduler_core.h"
#include "cache/holders.h"

namespace cascade {
namespace {

// How many chunks with holders that have ended are handled at a time: each takes microseconds, and
// requests wait for them. Those that are left are not found any more either.
constexpr size_t kPassedAtOnceMax = 256;

}  // namespace

// Called before any message is handled, and on each tick.
void SchedulerCore::pass_time() {
  registry_.set_time(clock_.wall_us());
  for (ChunkEntry* entry : registry_.due(kPassedAtOnceMax)) {
    if (!pass_holders_time(entry->chunk, clock_.wall_us())) continue;
    if (entry->chunk.holders.empty()) {
      keep_.removals.remove(*entry, Removal::kExpired);
      continue;
    }
    keep_.pins.follow_holders(*entry);
    metadata_.put(entry->chunk);
  }
  keep_.holds.end_leases();
}

}  // namespace cascade
