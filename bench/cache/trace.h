// Traces of requests whose prompts are named by the hashes of their blocks, one JSON object per
// line:
// {"timestamp": 27, "input_length": 1100, "output_length": 30, "hash_ids": [0, 14, 15]}
// as published with Mooncake (Qin et al., FAST 2025).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::speed {

struct TraceRequest {
  int64_t time_us = 0;
  std::vector<int64_t> blocks;  // ids: equal ids mean equal tokens after equal blocks
};

// The number of tokens in a block of these traces.
inline constexpr int64_t kTraceBlockTokens = 512;

// The requests in the order of the file; their times must not go back. Errors: those of the file
// system; kDataCorrupt, with field "PATH:LINE" and what is wrong in that line, for a line that is
// not an object as above, or for more than 2^20 blocks in a request or 2^28 in all.
Result<std::vector<TraceRequest>> read_trace(const std::string& path);

// The number of different blocks in all requests.
int64_t unique_blocks(const std::vector<TraceRequest>& trace);

}  // namespace cascade::speed
