// Rounds weights to K-quants.
#pragma once

#include "kernels/packed_matrix.h"

namespace cascade {

// Rounds `count` weights (1 to 128; the rest of the group is 0) so that the squared error is small.
// A NaN or an infinite weight gives an arbitrary but valid group. Any thread. Precondition:
// is_k_quant(type).
KQuantGroup quantize_k_group(WeightType type, const float* weights, int count);

}  // namespace cascade
