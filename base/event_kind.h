// The kinds of events that clients are told about their chunks and requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class EventKind : uint8_t {
  kChunkStored,      // registered, or retained: it has an id from now on
  kChunkUsed,        // a request was composed with it
  kChunkEvicted,     // its K and V are no longer held in memory
  kChunkRestored,    // its K and V are in memory again, computed or read from disk
  kChunkExpired,     // its time was over; it no longer exists
  kChunkDeleted,     // a client deleted it; it no longer exists
  kRequestStarted,   // it has left the queue
  kRequestFinished,  // it was answered, with success or not
};

// "chunk_stored", "chunk_used", … These are also the topics under which events are published.
std::string_view to_string(EventKind kind);
// The inverse; nullopt for an unknown name.
std::optional<EventKind> event_kind_from_string(std::string_view name);

}  // namespace cascade
