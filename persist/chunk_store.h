// A store in which metadata outlives the actor that uses it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/chunk.h"
#include "base/result.h"
#include "base/session.h"
#include "persist/setting.h"

namespace cascade {

// Chunks and sessions are keyed by (tenant, id), policies by (tenant, key). One thread.
class ChunkStore {
 public:
  virtual ~ChunkStore() = default;

  // Adds the chunk or replaces it.
  virtual Status put(const Chunk& chunk) = 0;
  // Sets those values of a stored chunk that change when it is used; success if there is no such
  // chunk.
  virtual Status touch(const std::string& tenant, const std::string& id, int64_t hits,
                       int64_t registrations, int64_t last_used_us) = 0;
  // Removes the chunk; success if there is none.
  virtual Status remove(const std::string& tenant, const std::string& id) = 0;
  // All chunks, in order of creation time.
  virtual Result<std::vector<Chunk>> load() = 0;
  // Add or replace a session, turns included; or remove it, with success if there is none.
  virtual Status put_session(const Session& session) = 0;
  virtual Status remove_session(const std::string& tenant, const std::string& id) = 0;
  virtual Result<std::vector<Session>> load_sessions() = 0;
  // Sets a policy; an empty value removes it.
  virtual Status put_policy(const Policy& policy) = 0;
  virtual Result<std::vector<Policy>> load_policies() = 0;
  // Makes all of the above durable, as far as this store can. One commit serves any number of
  // changes. After an error, all changes since the last commit are undone; a caller that needs them
  // must make them again.
  virtual Status commit() = 0;
  // Undoes the changes since the last commit, as far as this store can.
  virtual Status rollback() = 0;
};

}  // namespace cascade
