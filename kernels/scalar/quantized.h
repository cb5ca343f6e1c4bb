// The product of quantised matrices in plain loops.
#pragma once

#include "kernels/kernels.h"

namespace cascade::scalar {

void quantize_row(const QuantizeRowArgs& args);
void quantized_gemm(const QuantizedGemmArgs& args);

}  // namespace cascade::scalar
