// Compares the multiplications of attention with those of the weights.
#include "actors/scheduler/attention_growth.h"

#include <algorithm>

namespace cascade {

double attention_growth(const ModelConfig& config) {
  const double hidden = config.hidden_size;
  const double heads = double(config.query_heads) * config.head_dim;
  const double kv_heads = double(config.kv_heads) * config.head_dim;
  double inner = 0;  // of the MLPs of all layers
  for (int layer = 0; layer < config.layers; ++layer) inner += config.used_intermediate_size(layer);
  const double weights = hidden * (config.layers * (2 * heads + 2 * kv_heads) + 3.0 * inner);
  const auto windows = std::ranges::count_if(config.window, [](int window) { return window > 0; });
  const double position = static_cast<double>(config.layers - windows) * 2 * heads;
  return weights > 0 ? std::max(0.0, position / weights) : 0;
}

}  // namespace cascade
