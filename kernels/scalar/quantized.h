// The product of quantised matrices in plain loops.
#pragma once

#include "kernels/kernels.h"

namespace cascade::scalar {

void quantize_row(const float* x, int k, uint8_t* data, int rows, int index, bool k_quants);
void quantized_gemm(const QuantizedGemmArgs& args);

}  // namespace cascade::scalar
