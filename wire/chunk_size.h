// Which chunks a message can have, and how many.
#pragma once

#include <cstddef>

#include "base/chunk.h"
#include "base/result.h"

namespace cascade::wire {

// Checks that a message can hold the chunk, with little else beside it. Error kInvalidArgument
// names the field that is too large, and the limit (limits.h).
Status check_size(const Chunk& chunk);

// Decides how much of a list of chunks fits into one message. The list takes at most half of each
// limit, which leaves the other half to the message's other fields. One thread.
class ChunkRoom {
 public:
  // Whether the next chunk still fits into the message. The first one always does.
  bool takes(const Chunk& chunk);

 private:
  bool empty_ = true;
  size_t values_ = 0;
  size_t bytes_ = 0;
  size_t numbers_ = 0;
};

}  // namespace cascade::wire
