// The block formats of GGUF tensors as f32, exactly as the format defines them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/tensor_type.h"

namespace cascade {

// Writes `count` values, whole blocks, from the blocks at `from` on. Each value is the product of
// scale and integer, which f32 holds exactly, less or plus an offset: one rounding at most, so that
// the result does not depend on how it is computed. Any thread.
// Precondition: the type is one of blocks.
void dequantize_blocks(TensorType type, const uint8_t* from, size_t count, float* out);

}  // namespace cascade
