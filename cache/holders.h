// The holders that keep a chunk: how they are added, changed and ended, and what they add up to.
// These are functions on plain data; after each function that changes holders the chunk's sums are
// right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/chunk.h"
#include "base/result.h"
#include "cache/eviction.h"

namespace cascade {

// The largest number of holders of one chunk. Beyond it, a new name or session is refused. For a
// new retention, two retentions are joined into one, which ends when the later of the two would
// have ended.
inline constexpr size_t kHoldersMax = 256;

// The priority of a chunk for which none was given.
inline int32_t default_priority(ChunkType type) {
  return type == ChunkType::kOutput ? kPriorityRetained : kPriorityNormal;
}

// The terms of a holder that a client may change; an absent one stays as it is.
struct HolderTerms {
  std::optional<int64_t> expires_us{};  // Unix time; 0: never
  std::optional<int32_t> priority{};
  int64_t priority_until_us = 0;  // when the priority ends, if one is set
  std::optional<bool> pinned{};
};

// The holders that a change ended, as they were before; the `count` of a retention is the number
// that ended. The functions below that take a pointer to such a list add to it; they accept
// nullptr.
using EndedHolders = std::vector<Holder>;

// Adds `holder` to the chunk's holders. A retention of equal terms counts once more. If the name or
// session already holds the chunk, its holder lives as long as either would, with the newer
// priority. A request's holder is extended in the same way, but keeps the priority that it has.
// Error: kResourceExhausted, field "name" or "session", beyond kHoldersMax; nothing is changed.
Status add_holder(Chunk& chunk, Holder holder);

// Sets the chunk's sums from its holders. A chunk that was stored before chunks had holders first
// gets them: a retention, or a holder of its name, with the chunk's own terms; and a pin if it is
// pinned.
void complete_holders(Chunk& chunk);

// Changes the holder of the name. A missing one is added, with `expires_us` unless the terms give
// another time. Errors as add_holder().
Status change_named(Chunk& chunk, const std::string& name, const HolderTerms& terms,
                    int64_t expires_us);
// Changes what a client without a name of its own may change: one retention, the one that ends
// first; without retentions, the holder that requests brought along; without that, the holder of
// the only name. If there is none of these, the times of names and sessions stay: a retention is
// added for a new time, and a new priority alone is given to all of them. A pin is a holder of its
// own; unpinning removes it or, if there is none, unpins one of the pinned holders. Holders that
// had expired and that only the pin kept end with pass_holders_time().
void change_unnamed(Chunk& chunk, const HolderTerms& terms, EndedHolders* ended = nullptr);
// Ends the holders of all names; retentions of the same terms take their places.
void clear_names(Chunk& chunk, EndedHolders* ended = nullptr);

// Gives up one holder of a client that has no name: the unpinned retention that ends first. With
// the last retention, the holder that requests brought along is given up too. Without retentions,
// that holder is given up; without it, the holder of the only name. A session's turn is never given
// up. Errors, field "id", nothing is changed: kConflict if several names hold the chunk, or only
// sessions do (the message lists the holders); or if the holder that is left is pinned, or only
// pins would remain.
Status give_up_unnamed(Chunk& chunk, EndedHolders* ended = nullptr);
// Gives up the holder of the name, with its pin. Errors, nothing is changed: kNotFound, field
// "name"; kConflict, field "id", if the chunk is pinned and only pins would remain.
Status give_up_name(Chunk& chunk, std::string_view name, EndedHolders* ended = nullptr);
// Gives up all holders. Error kConflict, field "id", if the chunk is pinned; nothing is changed.
Status give_up_all(Chunk& chunk, EndedHolders* ended = nullptr);
// Gives up the holder of the name or the session, whatever remains. False if there is none.
bool give_up(Chunk& chunk, HolderKind kind, std::string_view label, EndedHolders* ended = nullptr);
// Whether the label holds the pinned chunk, and only pins would remain without it.
bool only_pins_without(const Chunk& chunk, HolderKind kind, std::string_view label);
// Turns a session's holder into a retention of the same terms. False if there is none.
bool keep_without_session(Chunk& chunk, std::string_view session);

// Ends the priorities that are over at `now_us` (Unix time) and, unless the chunk is pinned, the
// holders that are over. True if there were any.
bool pass_holders_time(Chunk& chunk, int64_t now_us, EndedHolders* ended = nullptr);
// When pass_holders_time() has something to do next; 0: never.
int64_t next_holder_time_us(const Chunk& chunk);

// Describes the holders for people: "2 retentions, the name "x", a turn of the session "y"". The
// first `count_max` of them are named, and the others counted: "…, 3 others".
std::string describe_holders(const Chunk& chunk, size_t count_max = SIZE_MAX);

}  // namespace cascade
