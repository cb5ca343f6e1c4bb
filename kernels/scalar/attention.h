// The specification of Kernels::attention.
#pragma once

#include "kernels/kernels.h"

namespace cascade::scalar {

void attention(const AttentionArgs& args);

}  // namespace cascade::scalar
