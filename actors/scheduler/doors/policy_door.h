// The tenants' expiry policies: how long a chunk lives if it was given no time of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/outbox.h"
#include "base/chunk.h"
#include "base/clock.h"
#include "wire/messages.h"

namespace cascade {

// One thread.
class PolicyDoor {
 public:
  // All outlive this.
  PolicyDoor(const Clock& clock, Outbox& outbox, MetadataWriter& metadata)
      : clock_(clock), outbox_(outbox), metadata_(metadata) {}

  void on(const Client& client, const wire::RequestId& id, const wire::PolicyGet& get);
  // Answers when the policy is durable.
  void on(const Client& client, const wire::RequestId& id, const wire::PolicySet& set);

  // Returns when a chunk expires that is registered now without a time to live of its own, as Unix
  // time; 0: never.
  int64_t expiry_us(const std::string& tenant, ChunkType type) const;
  // Takes over a policy from before the start. An unknown one is left out, with a warning.
  void restore(const wire::StoredPolicy& policy);
  // Stores the policy of this name as it is now, or that there is none.
  void store(const StoredName& name);

 private:
  wire::PolicyReply policies_of(const std::string& tenant) const;

  const Clock& clock_;
  Outbox& outbox_;
  MetadataWriter& metadata_;
  std::map<std::pair<std::string, ChunkType>, int64_t> ttls_ms_;  // by tenant and type
};

}  // namespace cascade
