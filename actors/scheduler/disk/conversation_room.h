// How long a conversation may become before its oldest turns are left out.
#pragma once

#include <cstdint>

#include "actors/scheduler/disk/disk_room.h"
#include "actors/scheduler/disk/page_spills.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/tenants.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"

namespace cascade {

// The state that the room depends on.
struct RoomSources {
  const ChainIndex& index;
  Tenants& tenants;
  const DiskRoom& disk;
  const PageSpills& spills;
  ChunkRegistry& registry;
  int64_t pages = 0;           // of KV memory
  int64_t context_tokens = 0;  // of the model
  int64_t slice_tokens = 0;    // as in PlannerLimits
  int64_t answer_tokens = 0;   // of requests that name no limit
};

// Returns the most tokens that the prompt of the request, which is not tokenized yet, may have:
// what the context, and memory or disk, have room for, less the answer, which gets the tokens that
// it may have, but at most a quarter of the room. Pinned pages take room, except those of the
// system prompt. At least 1. Thread: the scheduler's.
int64_t conversation_room(const RoomSources& sources, const Request& request);

}  // namespace cascade
