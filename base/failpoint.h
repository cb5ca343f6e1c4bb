// Named moments at which a test lets the daemon be killed, where a crash would hurt most.
//
// cascaded reads CASCADE_FAILPOINT once, at its start: NAME, or NAME:N for the N-th time that the
// moment comes; then it sends itself SIGKILL. Without the variable a moment costs one comparison.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace cascade {

enum class Failpoint : uint8_t {
  kNone,
  kKvCreate,         // a KV file is made, and nothing knows of it
  kKvWriteBefore,    // pages are about to be written
  kKvWriteHalf,      // a part of them is
  kKvWriteAfter,     // all are, and no row says so
  kKvSyncBefore,     // a KV file is about to be synchronised
  kKvSyncAfter,      // it is, and its rows are not committed
  kCommitBefore,     // the database is about to commit
  kCommitAfter,      // it has, and nobody has heard of it
  kAcknowledge,      // all that belongs to a commit is done; it is about to be acknowledged
  kScrub,            // a deleted page is about to be overwritten
  kKvRemove,         // a KV file without pages is about to be deleted
  kForget,           // deleted texts are about to leave the search index and the log
  kCompact,          // a page was moved to another file, which is not committed
  kCheckpointWrite,  // the log is being copied into the database
  kCheckpointSync,   // it is, and the database is not synchronised
  kRecoverBegin,     // a start has the database, and looks for pages
  kRecoverAdopt,     // it found a page that no row names
  kRecoverEnd,       // what it found is committed
};

namespace failpoint_internal {
extern std::atomic<Failpoint> armed;
void count_down();
}  // namespace failpoint_internal

// Whether this is the one that was named.
inline bool is_armed(Failpoint here) {
  return failpoint_internal::armed.load(std::memory_order_relaxed) == here;
}

// Ends the process if this is the moment that was asked for. Any thread.
inline void failpoint(Failpoint here) {
  if (is_armed(here)) [[unlikely]]
    failpoint_internal::count_down();
}

// Takes "NAME" or "NAME:N", N from 1. Call it before there are other threads.
// Errors: kInvalidArgument, field "CASCADE_FAILPOINT"; nothing is armed then.
Status arm_failpoint(std::string_view text);

// "kv_create", …: all names, in the order above.
std::span<const std::string_view> failpoint_names();

}  // namespace cascade
