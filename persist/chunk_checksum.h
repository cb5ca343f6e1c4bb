// The checksums of a chunk's rows.
#pragma once

#include <cstdint>

#include "base/chunk.h"

namespace cascade {

// Both: pure, any thread.

// The checksum of the values that change when the chunk is used.
int64_t chunk_use_checksum(const Chunk& chunk);
// The checksum of all other values, thoughts, parents and holders included.
int64_t chunk_checksum(const Chunk& chunk);

}  // namespace cascade
