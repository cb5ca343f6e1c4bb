// A map.
#include "persist/memory_store.h"

#include <algorithm>

namespace cascade {

Status MemoryStore::put(const Chunk& chunk) {
  chunks_[{chunk.tenant, chunk.id}] = chunk;
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
