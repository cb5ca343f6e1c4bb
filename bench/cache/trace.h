// Traces of requests whose prompts are named by the hashes of their blocks, one JSON object a line:
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
  std::vector<int64_t> blocks;  // ids: equal ids stand for equal tokens behind equal blocks
};

// Tokens of a block of such traces.
inline constexpr int64_t kTraceBlockTokens = 512;

// Requests in the order of the file, whose times must not go back.
// Errors: as the file system's; kDataCorrupt, field "PATH:LINE" and what of it, for a line that is
// not such an object, beyond 2^20 blocks in a request or 2^28 in all.
Result<std::vector<TraceRequest>> read_trace(const std::string& path);

// Different blocks of all requests.
int64_t unique_blocks(const std::vector<TraceRequest>& trace);

}  // namespace cascade::speed
