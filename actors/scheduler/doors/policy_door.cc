// A policy is a row of key and value (docs/data_files.md).
#include "actors/scheduler/doors/policy_door.h"

#include <spdlog/spdlog.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "wire/request_rules.h"

namespace cascade {
namespace {

constexpr std::string_view kTtlKey = "ttl_ms.";

std::string ttl_key(ChunkType type) {
  return std::string(kTtlKey) + std::string(to_string(type));
}

std::optional<ChunkType> type_of_ttl_key(std::string_view key) {
  for (const ChunkType type : kChunkTypes) {
    if (key == ttl_key(type)) return type;
  }
  return std::nullopt;
}

}  // namespace

int64_t PolicyDoor::expiry_us(const std::string& tenant, ChunkType type) const {
  const auto found = ttls_ms_.find({tenant, type});
  return found == ttls_ms_.end() ? 0 : clock_.wall_us() + found->second * 1000;
}

void PolicyDoor::on(const Client& client, const wire::RequestId& id, const wire::PolicyGet&) {
  outbox_.reply(client, id, policies_of(client.tenant));
}

void PolicyDoor::on(const Client& client, const wire::RequestId& id, const wire::PolicySet& set) {
  if (set.ttl_ms > 0) {
    ttls_ms_[{client.tenant, set.type}] = set.ttl_ms;
  } else {
    ttls_ms_.erase({client.tenant, set.type});
  }
  const StoredName name = {client.tenant, ttl_key(set.type), StoredKind::kPolicy};
  store(name);
  metadata_.reply(client, id, {name}, policies_of(client.tenant));
}

wire::PolicyReply PolicyDoor::policies_of(const std::string& tenant) const {
  wire::PolicyReply answer;
  for (const auto& [name, ttl_ms] : ttls_ms_) {
    if (name.first == tenant) answer.policies.push_back({name.second, ttl_ms});
  }
  return answer;
}

void PolicyDoor::restore(const wire::StoredPolicy& policy) {
  const auto type = type_of_ttl_key(policy.key);
  int64_t ttl_ms = 0;
  const char* end = policy.value.data() + policy.value.size();
  const auto read = std::from_chars(policy.value.data(), end, ttl_ms);
  const bool is_ttl = ttl_ms > 0 && ttl_ms <= wire::kDurationMsMax;
  if (type && read.ec == std::errc() && read.ptr == end && is_ttl) {
    ttls_ms_[{policy.tenant, *type}] = ttl_ms;
  } else {
    spdlog::warn("the policy {} = \"{}\" is not known: it is left out", policy.key, policy.value);
  }
}

void PolicyDoor::store(const StoredName& name) {
  const auto type = type_of_ttl_key(name.id);
  if (!type) return;
  const auto found = ttls_ms_.find({name.tenant, *type});
  metadata_.put_policy(name, found == ttls_ms_.end() ? "" : std::to_string(found->second));
}

}  // namespace cascade
