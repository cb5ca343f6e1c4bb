// The tensors of a decoder's layers, by their names in checkpoints of Hugging Face.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/packing_plan.h"
#include "model/weights.h"

namespace cascade {

// The name of the norm after the last layer.
std::string_view final_norm_name(const ModelConfig& config);

// Finds the weights of layer `index`; `w` must not move from now on. Errors: those of
// load_weights().
Status find_layer(PackingPlan& plan, int index, LayerWeights& w);

}  // namespace cascade
