// Keeps chunks, sessions and policies in maps.
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

Status MemoryStore::put_session(const Session& session) {
  sessions_[{session.tenant, session.id}] = session;
  return {};
}

Status MemoryStore::remove_session(const std::string& tenant, const std::string& id) {
  sessions_.erase({tenant, id});
  return {};
}

Result<std::vector<Session>> MemoryStore::load_sessions() {
  std::vector<Session> sessions;
  for (const auto& [name, session] : sessions_) sessions.push_back(session);
  return sessions;
}

Status MemoryStore::put_policy(const Policy& policy) {
  policies_.erase({policy.tenant, policy.key});
  if (!policy.value.empty()) policies_[{policy.tenant, policy.key}] = policy;
  return {};
}

Result<std::vector<Policy>> MemoryStore::load_policies() {
  std::vector<Policy> policies;
  for (const auto& [name, policy] : policies_) policies.push_back(policy);
  return policies;
}

}  // namespace cascade
