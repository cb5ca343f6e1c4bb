// Storing a token's K and V: the same code for every instruction set.
#pragma once

#include <cstdint>

#include "base/number_types.h"

namespace cascade {

// Kernels::write_kv.
void write_kv(KvType type, int head_dim, int token, const float* key, const float* value,
              uint8_t* key_block, uint8_t* value_block);

}  // namespace cascade
