// The tensors of recurrent layers, by their names in checkpoints of Hugging Face.
#pragma once

#include <string>

#include "base/result.h"
#include "model/packing_plan.h"
#include "model/weights.h"

namespace cascade {

// Finds the weights of a recurrent layer, whose tensors' names begin with `prefix`, except the
// layer's norms and its MLP. `w` must not move from now on. Errors: those of load_weights().
Status find_recurrent(PackingPlan& plan, const std::string& prefix, LayerWeights& w);

}  // namespace cascade
