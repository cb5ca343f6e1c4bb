// Stores a token's K and V as int8, for any vector type. Other types are converted element by
// element (kernels/write_kv.h), and that code specifies int8 as well.
#pragma once

#include <string.h>

#include "kernels/generic/blocks.h"
#include "kernels/generic/elementwise.h"
#include "kernels/kv_format.h"
#include "kernels/write_kv.h"

namespace cascade::generic {

// Converts x to int8 + kBias with one scale, and returns the scale (f16).
template <class V, class D, int kBias>
[[gnu::always_inline]] inline uint16_t quantize_kv(const float* x, int n, uint8_t* bytes) {
  V magnitude = V::zero();
  for_lanes(n, [&](int i, int count) {
    magnitude = V::max(V::load_partial(x + i, count).magnitude(), magnitude);
  });
  const KvTokenScale scale(magnitude.largest(), 127.0f);
  const V inverse = V::set1(scale.inverse), low = V::set1(-127.0f), high = V::set1(127.0f);
  const auto bias = D::Int::set1(kBias);
  for_lanes(n, [&](int i, int count) {
    const V scaled = V::load_partial(x + i, count) * inverse;
    const auto whole = D::Int::rounded(V::min(V::max(scaled, low), high)) + bias;
    if constexpr (kBias == 0) {
      whole.store_int8(reinterpret_cast<int8_t*>(bytes) + i);
    } else {
      whole.store_uint8(bytes + i);
    }
  });
  return scale.bits;
}

// Kernels::write_kv.
template <class V, class D>
inline void write_kv(KvType type, int head_dim, int token, const float* key, const float* value,
                     uint8_t* key_block, uint8_t* value_block) {
  if (type != KvType::kInt8) {
    return cascade::write_kv(type, head_dim, token, key, value, key_block, value_block);
  }
  constexpr int kHeadDimMax = 512;
  uint8_t bytes[kHeadDimMax];
  const uint16_t key_scale = quantize_kv<V, D, 128>(key, head_dim, bytes);
  for (int i = 0; i < head_dim; i += 4) {
    memcpy(key_block + key_index(type, head_dim, token, i), bytes + i, 4);
  }
  memcpy(key_block + kv_scales_offset(head_dim) + token * sizeof key_scale, &key_scale,
         sizeof key_scale);
  const uint16_t value_scale = quantize_kv<V, D, 0>(value, head_dim, bytes);
  for (int i = 0; i < head_dim; ++i) {
    value_block[value_index(type, head_dim, token, i)] = bytes[i];
  }
  memcpy(value_block + kv_scales_offset(padded_head_dim(head_dim)) + token * sizeof value_scale,
         &value_scale, sizeof value_scale);
}

}  // namespace cascade::generic
