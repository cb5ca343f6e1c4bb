// The kinds of events that clients are told about their chunks and requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class EventKind : uint8_t {
  kChunkStored,      // the chunk was registered or retained: it has an id from now on
  kChunkUsed,        // a request was composed with the chunk
  kChunkEvicted,     // the chunk's K and V are no longer held in memory
  kChunkRestored,    // the chunk's K and V are in memory again, computed or read from disk
  kChunkExpired,     // the chunk's time was over; it no longer exists
  kChunkDeleted,     // a client deleted the chunk; it no longer exists
  kRequestStarted,   // the request has left the queue
  kRequestFinished,  // the request was answered, with success or not
};

// "chunk_stored", "chunk_used", … These are also the topics under which events are published.
std::string_view to_string(EventKind kind);
// The inverse; nullopt for an unknown name.
std::optional<EventKind> event_kind_from_string(std::string_view name);

}  // namespace cascade
