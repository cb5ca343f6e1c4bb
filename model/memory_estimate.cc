// Adds up packed weights, whole pages, and the buffers of a forward pass.
#include "model/memory_estimate.h"

#include <string>

#include "base/check.h"
#include "base/checked.h"
#include "model/activations.h"
#include "model/attention_pass.h"
#include "model/transformer.h"

namespace cascade {

static_assert(MemoryDemand{}.rows == Transformer::kRowsUsual);

Result<MemoryEstimate> estimate_memory(const ModelConfig& config, uint64_t weights_bytes,
                                       const MemoryDemand& demand) {
  CHECK(demand.threads > 0);
  if (demand.tokens < 1 || demand.tokens > config.context_tokens_max) {
    return invalid_argument("tokens",
                            "must be from 1 to " + std::to_string(config.context_tokens_max) +
                                " (the model's context), got " + std::to_string(demand.tokens));
  }
  if (demand.sequences < 1) {
    return invalid_argument("sequences",
                            "must be at least 1, got " + std::to_string(demand.sequences));
  }
  MemoryEstimate estimate;
  estimate.weights_bytes = weights_bytes;
  estimate.page_bytes = kv_layout(config, demand.kv_type).indexed_page_bytes();
  const bool quantized = is_quantized(demand.weight_type) || demand.some_quantized;
  estimate.activation_bytes =
      activation_sizes(config, quantized, demand.rows).bytes(demand.rows, demand.threads);
  if (demand.reads) {
    estimate.activation_bytes +=
        2 * AttentionPass::kStageBytes + sizeof(float) * static_cast<size_t>(demand.rows) *
                                             static_cast<size_t>(config.query_heads) *
                                             attention_total_floats(config.head_dim_max());
  }
  const auto pages_each = static_cast<uint64_t>((demand.tokens + kPageTokens - 1) / kPageTokens);
  const auto pages = checked_mul(pages_each, static_cast<uint64_t>(demand.sequences));
  const auto kv_bytes = pages ? checked_mul(*pages, estimate.page_bytes) : std::nullopt;
  const auto state_bytes = checked_mul(uint64_t{config.recurrent.state_floats() * sizeof(float)},
                                       static_cast<uint64_t>(demand.sequences));
  const auto loaded = checked_add(weights_bytes, estimate.activation_bytes);
  const auto kept = kv_bytes && state_bytes ? checked_add(*kv_bytes, *state_bytes) : std::nullopt;
  const auto total = kept && loaded ? checked_add(*loaded, *kept) : std::nullopt;
  if (!total) {
    return invalid_argument("sequences", std::to_string(demand.sequences) + " of " +
                                             std::to_string(demand.tokens) +
                                             " tokens take more than 2^64 bytes");
  }
  estimate.pages = *pages;
  estimate.kv_bytes = *kv_bytes;
  estimate.state_bytes = *state_bytes;
  estimate.total_bytes = *total;
  return estimate;
}

}  // namespace cascade
