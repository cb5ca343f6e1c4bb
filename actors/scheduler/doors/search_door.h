// Searches for chunks by their words: the store has the index.
#pragma once

#include <cstdint>

#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

// One thread. Each search is answered once.
class SearchDoor {
 public:
  // At most `searches_max` searches are under way; each tenant has a part of this number. The other
  // arguments outlive this.
  SearchDoor(Jobs& jobs, Outbox& outbox, ChunkRegistry& registry, int64_t searches_max);

  void on(const Client& client, const wire::RequestId& id, const wire::ChunkSearch& search);
  // The store's answer. Chunks that are not found any more, for example because they have expired,
  // are left out.
  void on(wire::StoreFound&& answer);

 private:
  struct Asked {
    Client client;
    wire::RequestId id;
  };

  Jobs& jobs_;
  Outbox& outbox_;
  ChunkRegistry& registry_;
  const int64_t searches_max_;
  PendingJobs<Asked> searching_;
};

}  // namespace cascade
