// How much more a later token of a prompt costs than its first one, by the model's shape.
#pragma once

#include "model/config.h"

namespace cascade {

// By which part of a first token's time the next one takes longer, if attention does its
// multiplications as fast as matrix products do theirs: the multiplications with one earlier
// position, as a part of those with all weights. Layers with a window, whose attention stops
// growing, are left out. 0 for a model without layers.
double attention_growth(const ModelConfig& config);

}  // namespace cascade
