// Messages are compared by the digest of their encoding on the wire.
#include "actors/scheduler/mutation_log.h"

#include "wire/frame_bytes.h"

namespace cascade {
namespace {

// The encoding cannot fail: `message` came in one message, and its text or token ids fit into one
// again.
Digest digest_of(const wire::Message& message) {
  Hasher hasher;
  const auto frames = wire::encode({{}, message});
  for (const wire::Frame& frame : *frames) hasher.field("frame", frame);
  return hasher.finish();
}

}  // namespace

MutationLog::Begin MutationLog::begin(const Client& client, const wire::RequestId& id,
                                      const wire::Message& message) {
  Tenant& tenant = tenants_[client.tenant];
  const Digest digest = digest_of(message);
  if (const auto known = tenant.by_id.find(id); known != tenant.by_id.end()) {
    Change& change = *known->second;
    if (change.digest == digest) {
      if (change.answer) return {false, &*change.answer};
      if (change.clients.size() == kClientsMax) change.clients.erase(change.clients.begin());
      change.clients.push_back(client);
      return {false, nullptr};
    }
    drop(tenant, known->second);
  }
  if (tenant.changes.size() == kChangesMax) drop(tenant, tenant.changes.begin());
  tenant.changes.push_back({id, digest, {client}, std::nullopt, 0});
  tenant.by_id[id] = std::prev(tenant.changes.end());
  return {true, nullptr};
}

std::vector<Client> MutationLog::end(const std::string& tenant_name, const wire::RequestId& id,
                                     const wire::Message& answer) {
  const auto found = tenants_.find(tenant_name);
  if (found == tenants_.end()) return {};
  Tenant& tenant = found->second;
  const auto known = tenant.by_id.find(id);
  if (known == tenant.by_id.end() || known->second->answer) return {};
  Change& change = *known->second;
  std::vector<Client> clients = std::move(change.clients);
  const auto frames = wire::encode({id, answer});
  if (std::holds_alternative<wire::ErrorReply>(answer) || !frames.ok()) {
    drop(tenant, known->second);
    return clients;
  }
  change.answer = answer;
  change.answer_bytes = wire::bytes_of(*frames);
  tenant.answer_bytes += change.answer_bytes;
  // Drops the oldest answers first. The new one is the last to be dropped, if it is too large by
  // itself.
  for (auto oldest = tenant.changes.begin();
       tenant.answer_bytes > kAnswerBytesMax && oldest != tenant.changes.end();) {
    const auto next = std::next(oldest);
    if (oldest->answer) drop(tenant, oldest);
    oldest = next;
  }
  return clients;
}

void MutationLog::drop(Tenant& tenant, std::list<Change>::iterator change) {
  tenant.answer_bytes -= change->answer_bytes;
  tenant.by_id.erase(change->id);
  tenant.changes.erase(change);
}

}  // namespace cascade
