// Leaves the oldest turns of a request out of its prompt.
#pragma once

#include <cstdint>

#include "actors/scheduler/request.h"
#include "base/on_overflow.h"
#include "cache/chunk_registry.h"

namespace cascade {

// All functions: the scheduler's thread. They change the request's messages, parents and
// `left_out`.

// Leaves out turns until the texts of the conversation have at most `bytes_max` bytes, so that what
// can never fit is not tokenized at each turn. What stays may still have more.
void leave_out_bytes(int64_t bytes_max, ChunkRegistry& registry, Request& request);

// Leaves out what the tokenizer found to be too much (wire::EncodeDone). The message that the
// answer goes on with counts as a step.
void take_left_out(const LeftOut& cut, ChunkRegistry& registry, Request& request);

}  // namespace cascade
