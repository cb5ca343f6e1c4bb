// Rounds weights to K-quants.
#pragma once

#include "kernels/packed_matrix.h"

namespace cascade {

// The group of `count` weights (1 to 128; the rest count as 0) with a small squared error: scales
// and offsets are searched for, and then the units that fit all of them best (least squares). A
// NaN or an infinite weight gives some group without harm. Any thread.
// Precondition: is_k_quant(type).
KQuantGroup quantize_k_group(WeightType type, const float* weights, int count);

}  // namespace cascade
