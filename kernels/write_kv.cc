// Stores a token's K and V, element by element: the arithmetic of the rounding is the same
// everywhere.
#include "kernels/write_kv.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kv_format.h"

namespace cascade {
namespace {

// The smallest normal f16: a smaller scale would lose precision, so everything counts as 0 then.
constexpr float kScaleMin = 0x1p-14f;

// A NaN becomes -127.
int8_t round_int8(float x) {
  const float low = x > -127.0f ? x : -127.0f;
  return static_cast<int8_t>(std::nearbyint(low < 127.0f ? low : 127.0f));
}

// Writes element i to block[index(i)], where index counts elements of `type`. kBias is the bias of
// int8.
template <int kBias, class Index>
void store(KvType type, const float* x, int n, int scales_channels, int token, uint8_t* block,
           const Index& index) {
  const auto store16 = [&](int i, uint16_t bits) {
    std::memcpy(block + index(i) * sizeof bits, &bits, sizeof bits);
  };
  if (!kv_has_scales(type)) {
    for (int i = 0; i < n; ++i) {
      if (type == KvType::kF32) std::memcpy(block + index(i) * sizeof(float), x + i, sizeof(float));
      if (type == KvType::kBf16) store16(i, f32_to_bf16(x[i]));
      if (type == KvType::kFp16) store16(i, f32_to_f16(x[i]));
    }
    return;
  }
  const bool int8 = type == KvType::kInt8;
  float largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
  const KvTokenScale scale(largest, int8 ? 127.0f : kE4m3Max);
  for (int i = 0; i < n; ++i) {
    const float scaled = x[i] * scale.inverse;
    block[index(i)] = int8 ? static_cast<uint8_t>(round_int8(scaled) + kBias) : f32_to_e4m3(scaled);
  }
  std::memcpy(block + kv_scales_offset(scales_channels) + token * sizeof scale.bits, &scale.bits,
              sizeof scale.bits);
}

}  // namespace

KvTokenScale::KvTokenScale(float largest, float format_max) {
  const float scale = std::max(largest / format_max, kScaleMin);
  bits = f32_to_f16(scale);
  inverse = 1.0f / f16_to_f32(bits);
}

void write_key(KvType type, int head_dim, int token, const float* key, uint8_t* key_block) {
  store<128>(type, key, head_dim, head_dim, token, key_block,
             [&](int i) { return key_index(type, head_dim, token, i); });
}

void write_kv(KvType type, int head_dim, int token, const float* key, const float* value,
              uint8_t* key_block, uint8_t* value_block) {
  write_key(type, head_dim, token, key, key_block);
  store<0>(type, value, head_dim, padded_head_dim(head_dim), token, value_block,
           [&](int i) { return value_index(type, head_dim, token, i); });
}

}  // namespace cascade
