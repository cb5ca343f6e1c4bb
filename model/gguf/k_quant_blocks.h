// The super-blocks of GGUF that K-quants hold as they are: Q3_K, Q4_K, Q5_K and Q6_K.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/number_types.h"
#include "kernels/packed_matrix.h"
#include "model/tensor_type.h"

namespace cascade {

// The type of weights that holds super-blocks of `type`: Q4_K, Q5_K and Q6_K as their names say,
// and Q3_K as kQ6K, which has twice its bits. nullopt: there is none.
std::optional<WeightType> k_quant_of(TensorType type);

// Reads `count` groups of 128 weights, two for each super-block at `from`. `count` is even. Any
// thread. Precondition: k_quant_of(type).
void read_k_quant_groups(TensorType type, const uint8_t* from, size_t count, KQuantGroup* out);

}  // namespace cascade
