// Where chunk metadata outlives the actor that uses it.
#pragma once

#include <string>
#include <vector>

#include "base/chunk.h"
#include "base/result.h"

namespace cascade {

// Keyed by (tenant, id). One thread.
class ChunkStore {
 public:
  virtual ~ChunkStore() = default;

  // Adds the chunk or replaces it. Durable, as far as the store is, when it returns.
  virtual Status put(const Chunk& chunk) = 0;
  // Removes the chunk; success if there is none.
  virtual Status remove(const std::string& tenant, const std::string& id) = 0;
  // All chunks, in order of creation time.
  virtual Result<std::vector<Chunk>> load() = 0;
};

}  // namespace cascade
