// The specification of the kernels for recurrent layers.
#pragma once

#include "kernels/recurrence.h"

namespace cascade::scalar {

void convolve(const ConvolveArgs& args);
void scan(const ScanArgs& args);

}  // namespace cascade::scalar
