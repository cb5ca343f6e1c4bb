// These texts tell people who holds a chunk, and what a change ended. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/holder.h"
#include "clients/cpp/client.h"

namespace cascade::ctl {

// "2 retentions", "the name "best" until 2026-11-23 12:00:00".
std::string holder_text(const Holder& holder);
// The texts of several holders, with commas between them.
std::string holders_text(const std::vector<Holder>& holders);

// The answer to a delete: "deleted ID; ended: a retention", or "given up ID; ended: a retention; it
// is still held by the name "best"".
std::string deletion_text(const Chunk& chunk, const client::ChunkChange& change);
// The text that follows the answer to an unpin: "; still pinned by a pin, the name "best": unpin it
// again"; empty if nothing pins the chunk any more.
std::string pins_text(const Chunk& chunk);
// The answer to a change: "ID", "ID (ended: a pin; held by the name "best")", "ID is gone (ended: a
// pin, a retention)".
std::string change_text(const Chunk& chunk, const client::ChunkChange& change);

}  // namespace cascade::ctl
