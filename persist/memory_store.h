// A store in memory: its content outlives a restart of an actor, but not the process.
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
  Status put_session(const Session& session) override;
  Status remove_session(const std::string& tenant, const std::string& id) override;
  Result<std::vector<Session>> load_sessions() override;
  Status put_policy(const Policy& policy) override;
  Result<std::vector<Policy>> load_policies() override;
  Status commit() override { return {}; }
  Status rollback() override { return {}; }

 private:
  using Name = std::pair<std::string, std::string>;  // tenant, id or key
  std::map<Name, Chunk> chunks_;
  std::map<Name, Session> sessions_;
  std::map<Name, Policy> policies_;
};

}  // namespace cascade
