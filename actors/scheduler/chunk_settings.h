// The settings of a chunk that its owner may change, whichever message they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/chunk.h"
#include "cache/kv_view.h"
#include "wire/messages.h"

namespace cascade {

// A setting that is absent stays as it is. Ranges: wire/request_rules.h.
struct ChunkSettings {
  std::optional<std::string> name;
  std::optional<bool> pinned;
  std::optional<int64_t> ttl_ms;  // 0: never expires
  std::optional<int32_t> priority;
  std::optional<int64_t> priority_ms;  // absent: for good
  std::optional<bool> published;
  bool operator==(const ChunkSettings&) const = default;
};

inline ChunkSettings settings_of(const wire::ChunkPut& put) {
  return {put.name, put.pinned, put.ttl_ms, put.priority, put.priority_ms, std::nullopt};
}
inline ChunkSettings settings_of(const wire::ChunkUpdate& update) {
  return {update.name,     update.pinned,      update.ttl_ms,
          update.priority, update.priority_ms, update.published};
}
inline ChunkSettings settings_of_output(const wire::GenerateRequest& request) {
  return {request.output_name,     request.output_pinned,      request.output_ttl_ms,
          request.output_priority, request.output_priority_ms, std::nullopt};
}

// Returns how many pages a chain of this many tokens has.
inline int64_t chain_pages(size_t tokens) {
  return static_cast<int64_t>((tokens + size_t{kPageTokens} - 1) / size_t{kPageTokens});
}

}  // namespace cascade
