// The specification of Kernels::gemm.
#pragma once

#include "kernels/kernels.h"

namespace cascade::scalar {

void gemm(const GemmArgs& args);

}  // namespace cascade::scalar
