// What clients are told of that happens to their chunks and requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class EventKind : uint8_t {
  kChunkStored,      // registered, or retained: it has an id from now on
  kChunkUsed,        // a request was composed with it
  kChunkEvicted,     // its K and V are not held in memory any more
  kChunkRestored,    // its K and V are held in memory again, computed or from disk
  kChunkExpired,     // its time was over; it is gone
  kChunkDeleted,     // a client deleted it; it is gone
  kRequestStarted,   // it has left the queue
  kRequestFinished,  // it was answered, with success or not
};

// "chunk_stored", "chunk_used", … ; also the topic that events are published under.
std::string_view to_string(EventKind kind);
// The inverse; nullopt for an unknown name.
std::optional<EventKind> event_kind_from_string(std::string_view name);

}  // namespace cascade
