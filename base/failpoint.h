// Named moments, where a crash would hurt most, at which a test can let the daemon be killed.
//
// cascaded reads CASCADE_FAILPOINT once, when it starts: NAME, or NAME:N for the N-th time that the
// moment comes. At that moment it sends itself SIGKILL. Without the variable a moment costs one
// comparison.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace cascade {

enum class Failpoint : uint8_t {
  kNone,
  kKvCreate,         // a KV file was created, and nothing refers to it yet
  kKvWriteBefore,    // pages are about to be written
  kKvWriteHalf,      // a part of the pages is written
  kKvWriteAfter,     // all pages are written, and no row says so yet
  kKvSyncBefore,     // a KV file is about to be synchronised
  kKvSyncAfter,      // it is synchronised, and its rows are not committed yet
  kCommitBefore,     // the database is about to commit
  kCommitAfter,      // it has committed, and nobody has been told yet
  kAcknowledge,      // all work of a commit is done; it is about to be acknowledged
  kScrub,            // a deleted page is about to be overwritten
  kKvRemove,         // a KV file without pages is about to be deleted
  kForget,           // deleted texts are about to be removed from the search index and the log
  kCompact,          // a page was moved to another file; the move is not committed
  kCheckpointWrite,  // the log is being copied into the database
  kCheckpointSync,   // the log is copied, and the database is not synchronised yet
  kRecoverBegin,     // a start has opened the database and will now look for pages
  kRecoverAdopt,     // a start found a page that no row names
  kRecoverEnd,       // what the start found is committed
};

namespace failpoint_internal {
extern std::atomic<Failpoint> armed;
void count_down();
}  // namespace failpoint_internal

// Whether `here` is the moment that was named.
inline bool is_armed(Failpoint here) {
  return failpoint_internal::armed.load(std::memory_order_relaxed) == here;
}

// Ends the process if `here` is the moment that was asked for. Any thread.
inline void failpoint(Failpoint here) {
  if (is_armed(here)) [[unlikely]]
    failpoint_internal::count_down();
}

// Takes "NAME" or "NAME:N", N from 1. Call it before other threads exist. Errors: kInvalidArgument,
// field "CASCADE_FAILPOINT"; nothing is armed after an error.
Status arm_failpoint(std::string_view text);

// "kv_create", …: all names, in the order above.
std::span<const std::string_view> failpoint_names();

}  // namespace cascade
