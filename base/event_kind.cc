// The names of the kinds of events.
#include "base/event_kind.h"

#include "base/enum_table.h"

namespace cascade {
namespace {

constexpr EnumTable<EventKind, 8> kEventKinds = {{
    {EventKind::kChunkStored, "chunk_stored"},
    {EventKind::kChunkUsed, "chunk_used"},
    {EventKind::kChunkEvicted, "chunk_evicted"},
    {EventKind::kChunkRestored, "chunk_restored"},
    {EventKind::kChunkExpired, "chunk_expired"},
    {EventKind::kChunkDeleted, "chunk_deleted"},
    {EventKind::kRequestStarted, "request_started"},
    {EventKind::kRequestFinished, "request_finished"},
}};

}  // namespace

std::string_view to_string(EventKind kind) {
  return name_of(kEventKinds, kind);
}

std::optional<EventKind> event_kind_from_string(std::string_view name) {
  return value_of(kEventKinds, name);
}

}  // namespace cascade
