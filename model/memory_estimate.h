// How much memory a model will need, before it is loaded.
#pragma once

#include <cstdint>

#include "base/number_types.h"
#include "base/result.h"
#include "model/config.h"

namespace cascade {

// The inputs of the estimate besides the model.
struct MemoryDemand {
  WeightType weight_type = WeightType::kBf16;
  bool some_quantized = false;  // matrices, also if weight_type is not (WeightChoice)
  KvType kv_type = KvType::kBf16;
  int threads = 1;
  int rows = 512;      // computed together, at most (Transformer::kRowsUsual)
  bool reads = false;  // pages from disk: a Transformer needs buffers for them
  int64_t tokens = 1;  // of one sequence
  int64_t sequences = 1;
};

struct MemoryEstimate {
  uint64_t weights_bytes = 0;     // packed matrices
  uint64_t kv_bytes = 0;          // of all pages
  uint64_t state_bytes = 0;       // of recurrent layers, one state for each sequence
  uint64_t activation_bytes = 0;  // of a Transformer
  uint64_t total_bytes = 0;
  uint64_t pages = 0;       // of all sequences: whole pages, nothing shared
  uint64_t page_bytes = 0;  // K, V and index
};

// `weights_bytes`: PackedWeights::bytes (model/weights.h). Errors: kInvalidArgument, field
// "tokens" if it is not from 1 to the model's context, "sequences" if it is not positive or the sum
// does not fit 64 bits. Precondition: threads > 0. Any thread.
Result<MemoryEstimate> estimate_memory(const ModelConfig& config, uint64_t weights_bytes,
                                       const MemoryDemand& demand);

}  // namespace cascade
