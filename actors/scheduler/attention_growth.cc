// Compares the multiplications of attention with those of the weights.
#include "actors/scheduler/attention_growth.h"

#include <algorithm>

namespace cascade {

double attention_growth(const ModelConfig& config) {
  const double hidden = config.hidden_size;
  double weights = 0, position = 0;
  // Tokens of a prompt skip the layers after the last one with a state.
  for (int layer = 0; layer <= config.last_state_layer(); ++layer) {
    const AttentionShape shape = config.attention_shape(layer);
    const double heads = double(config.query_heads) * shape.head_dim;
    const double kv_heads = shape.writes_kv ? double(shape.kv_heads) * shape.head_dim : 0;
    const double inner = config.used_intermediate_size(layer);
    weights += hidden * (2 * heads + 2 * kv_heads + 3 * inner);
    const bool sees_all = config.window.empty() || config.window[layer] == 0;
    if (sees_all) position += 2 * heads;
  }
  return weights > 0 ? std::max(0.0, position / weights) : 0;
}

}  // namespace cascade
