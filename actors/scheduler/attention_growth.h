// How much more a later token of a prompt costs than the first one, estimated from the model's
// shape.
#pragma once

#include "model/config.h"

namespace cascade {

// Each token takes longer than the one before it by this part of the first token's time. The part
// is the number of multiplications with one earlier position, divided by the number with all
// weights, as if all multiplications took the same time. Layers with a window are left out, because
// their attention stops growing. 0 for a model without layers.
double attention_growth(const ModelConfig& config);

}  // namespace cascade
