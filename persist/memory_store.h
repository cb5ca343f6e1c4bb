// A store in memory: chunks outlive a restart of an actor, not of the process.
#pragma once

#include <map>
#include <utility>

#include "persist/chunk_store.h"

namespace cascade {

class MemoryStore : public ChunkStore {
 public:
  Status put(const Chunk& chunk) override;
  Status touch(const std::string& tenant, const std::string& id, int64_t hits,
               int64_t registrations, int64_t last_used_us) override;
  Status remove(const std::string& tenant, const std::string& id) override;
  Result<std::vector<Chunk>> load() override;
  Status commit() override { return {}; }
  Status rollback() override { return {}; }

 private:
  std::map<std::pair<std::string, std::string>, Chunk> chunks_;  // by tenant and id
};

}  // namespace cascade
