// The block formats of GGUF tensors: as f32, exactly as the format defines them, or as they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/number_types.h"
#include "kernels/packed_matrix.h"
#include "model/gguf/k_quant_blocks.h"
#include "model/safetensors.h"
#include "model/tensor_type.h"

namespace cascade {

// Writes `count` values, whole blocks, from the blocks at `from` on. Each value is the product of
// scale and integer, which f32 holds exactly, plus or minus an offset. So it is rounded at most
// once, and the result does not depend on how it is computed. Any thread.
// Precondition: the type is one of blocks.
void dequantize_blocks(TensorType type, const uint8_t* from, size_t count, float* out);

// Whether a matrix of `weights` can hold the blocks of a tensor of `type` as they are: int8 and
// int4 with integers of that width and a scale for each 32 of them (kernels/packed_matrix.h),
// mxfp4, or k_quant_of(type).
bool keeps_blocks(TensorType type, WeightType weights);

// Reads `count` blocks that int8 or int4 keeps as they are. w = q * scale is what
// dequantize_blocks() gives, to the last bit. Any thread. Precondition: keeps_blocks() for kInt8.
void read_weight_blocks(TensorType type, const uint8_t* from, size_t count, WeightBlock* out);

// Reads `count` blocks of a tensor from number `first` on. Any thread. Precondition: keeps_blocks()
// for kMxfp4.
void read_mxfp4_blocks(const Tensor& tensor, size_t first, size_t count, Mxfp4Block* out);

}  // namespace cascade
