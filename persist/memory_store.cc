// A map.
#include "persist/memory_store.h"

#include <algorithm>

namespace cascade {

Status MemoryStore::put(const Chunk& chunk) {
  chunks_[{chunk.tenant, chunk.id}] = chunk;
  return {};
}

Status MemoryStore::touch(const std::string& tenant, const std::string& id, int64_t hits,
                          int64_t registrations, int64_t last_used_us) {
  const auto found = chunks_.find({tenant, id});
  if (found == chunks_.end()) return {};
  found->second.hits = hits;
  found->second.registrations = registrations;
  found->second.last_used_us = last_used_us;
  return {};
}

Status MemoryStore::remove(const std::string& tenant, const std::string& id) {
  chunks_.erase({tenant, id});
  return {};
}

Result<std::vector<Chunk>> MemoryStore::load() {
  std::vector<Chunk> chunks;
  for (const auto& [key, chunk] : chunks_) chunks.push_back(chunk);
  std::ranges::stable_sort(chunks, {}, &Chunk::created_us);
  return chunks;
}

}  // namespace cascade
