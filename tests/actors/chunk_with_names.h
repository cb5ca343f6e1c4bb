// A stored chunk that many names hold.
#pragma once

#include <string>

#include "base/chunk.h"
#include "base/tenant.h"

namespace cascade::testing {

// Chunks with different `number`s are different chunks.
inline Chunk chunk_with_names(int number, size_t names) {
  Chunk chunk;
  chunk.id = "chunk_" + std::to_string(number);
  chunk.tenant = kLocalTenant;
  chunk.text = "text " + std::to_string(number);
  chunk.content_hash = chunk.id;
  for (size_t i = 0; i < names; ++i) {
    Holder holder;
    holder.kind = HolderKind::kName;
    holder.label = "name " + std::to_string(i);
    holder.expires_us = INT64_MAX;
    holder.priority = 70;
    chunk.holders.push_back(std::move(holder));
  }
  return chunk;
}

}  // namespace cascade::testing
