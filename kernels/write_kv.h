// Storing a token's K and V, element by element.
#pragma once

#include <cstdint>

#include "base/number_types.h"

namespace cascade {

// One token's scale as an f16, and the inverse of the scale. The largest magnitude of the numbers
// is `largest`, and the largest number of the format is `format_max`.
struct KvTokenScale {
  uint16_t bits;
  float inverse;

  KvTokenScale(float largest, float format_max);
};

// Stores one token's key alone, [head_dim].
void write_key(KvType type, int head_dim, int token, const float* key, uint8_t* key_block);

// Kernels::write_kv.
void write_kv(KvType type, int head_dim, int token, const float* key, const float* value,
              uint8_t* key_block, uint8_t* value_block);

}  // namespace cascade
