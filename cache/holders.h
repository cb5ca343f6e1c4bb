// Who keeps a chunk: how holders come, change and go, and what all of a chunk's come to. Functions
// on plain data; the one that changes holders ends with the chunk's sums being right.
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

// Of one chunk. A name or a session beyond it is refused; of retentions two then become one, which
// ends when the later one of them would have ended.
inline constexpr size_t kHoldersMax = 256;

// The priority of a chunk that was given none.
inline int32_t default_priority(ChunkType type) {
  return type == ChunkType::kOutput ? kPriorityRetained : kPriorityNormal;
}

// What a client may change of a holder; what is absent stays as it is.
struct HolderTerms {
  std::optional<int64_t> expires_us{};  // Unix time; 0: never
  std::optional<int32_t> priority{};
  int64_t priority_until_us = 0;  // of the priority, if there is one
  std::optional<bool> pinned{};
};

// Holders that ended by a change, as they were; `count` of a retention: how many of it ended. The
// functions below that take a pointer to one add to it; nullptr: nobody wants to know.
using EndedHolders = std::vector<Holder>;

// Adds `holder` to the chunk's. A retention of equal terms counts once more. A name's or a
// session's that is there already goes on as long as either would, with the newer priority; a
// request's in the same way, with its own priority.
// Error: kResourceExhausted, field "name" or "session", beyond kHoldersMax; nothing is changed.
Status add_holder(Chunk& chunk, Holder holder);

// Sums up the holders that the chunk was given. One from before there were holders gets them: a
// retention, or its name, and its pin, with the chunk's own terms.
void complete_holders(Chunk& chunk);

// Changes the holder of the name, which is added if it is not there, with `expires_us` unless the
// terms say another time. Errors as add_holder().
Status change_named(Chunk& chunk, const std::string& name, const HolderTerms& terms,
                    int64_t expires_us);
// Changes what a client without a name of its own may change: one retention, that which ends first,
// else what the only name holds, else the session's, whose times stay: a retention is added for
// them. A pin is a holder of its own; without it, one of those that are pinned is not any more.
// What only the pin kept ends with pass_holders_time().
void change_unnamed(Chunk& chunk, const HolderTerms& terms, EndedHolders* ended = nullptr);
// Names end; what they held is held by retentions of the same terms.
void clear_names(Chunk& chunk, EndedHolders* ended = nullptr);

// Gives up one holder of a client that has no name: a retention that is not pinned, that which ends
// first, and with the last one what requests brought along; else what requests brought along; else
// the only name's. A session's turn never.
// Errors, field "id", nothing is changed: kConflict if several names hold it, or nothing but
// sessions, which are listed; or if what is left is pinned, or nothing but pins would be left.
Status give_up_unnamed(Chunk& chunk, EndedHolders* ended = nullptr);
// Gives up the holder of the name, with its pin. Errors, nothing is changed: kNotFound, field
// "name"; kConflict, field "id", if the chunk is pinned and nothing but pins would be left.
Status give_up_name(Chunk& chunk, std::string_view name, EndedHolders* ended = nullptr);
// Gives up all holders. Error kConflict, field "id", if the chunk is pinned; nothing is changed.
Status give_up_all(Chunk& chunk, EndedHolders* ended = nullptr);
// Gives up the holder of the name or the session, whatever is left. False if there is none.
bool give_up(Chunk& chunk, HolderKind kind, std::string_view label, EndedHolders* ended = nullptr);
// Whether the label holds the pinned chunk, and without it nothing but pins would.
bool only_pins_without(const Chunk& chunk, HolderKind kind, std::string_view label);
// A session's holder becomes a retention of the same terms. False if there is none.
bool keep_without_session(Chunk& chunk, std::string_view session);

// Ends what is over at `now_us`, Unix time: priorities, and holders unless the chunk is pinned.
// True if that was anything.
bool pass_holders_time(Chunk& chunk, int64_t now_us, EndedHolders* ended = nullptr);
// When pass_holders_time() has something to do next; 0: never.
int64_t next_holder_time_us(const Chunk& chunk);

// The holders for people: "2 retentions, the name "x", a turn of the session "y"". The first
// `count_max` of them are named, and the others counted: "…, 3 others".
std::string describe_holders(const Chunk& chunk, size_t count_max = SIZE_MAX);

}  // namespace cascade
