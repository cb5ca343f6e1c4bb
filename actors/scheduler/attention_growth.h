// How much more a later token of a prompt costs than its first one, by the model's shape.
#pragma once

#include "model/config.h"

namespace cascade {

// Each token takes longer than the one before it by this part of the first token's time. It is the
// number of multiplications with one earlier position, divided by that with all weights, as if both
// took the same time each. Layers with a window are left out, because their attention stops
// growing. 0 for a model without layers.
double attention_growth(const ModelConfig& config);

}  // namespace cascade
