// An element has one place in a block (key_index(), value_index()); the scales follow the elements.
#include "kernels/move_kv.h"

#include <cstring>

#include "kernels/kv_format.h"

namespace cascade {
namespace {

// Copies `count` elements. `index(token, i)` is the place of element i of a token.
template <class Index>
void copy(KvType type, int count, int scales_channels, const uint8_t* from, int from_token,
          uint8_t* to, int to_token, const Index& index) {
  const size_t bytes = kv_element_bytes(type);
  for (int i = 0; i < count; ++i) {
    std::memcpy(to + index(to_token, i) * bytes, from + index(from_token, i) * bytes, bytes);
  }
  if (!kv_has_scales(type)) return;
  const size_t scales = kv_scales_offset(scales_channels);
  std::memcpy(to + scales + to_token * sizeof(uint16_t),
              from + scales + from_token * sizeof(uint16_t), sizeof(uint16_t));
}

template <class Element>
Element element(const uint8_t* block, size_t index) {
  Element value;
  std::memcpy(&value, block + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

void copy_value(KvType type, int head_dim, const uint8_t* from, int from_token, uint8_t* to,
                int to_token) {
  copy(type, head_dim, padded_head_dim(head_dim), from, from_token, to, to_token,
       [&](int token, int i) { return value_index(type, head_dim, token, i); });
}

void copy_kv(KvType type, int head_dim, const KvBlocks<const uint8_t>& from, int from_token,
             const KvBlocks<uint8_t>& to, int to_token) {
  copy(type, head_dim, head_dim, from.key, from_token, to.key, to_token,
       [&](int token, int i) { return key_index(type, head_dim, token, i); });
  copy_value(type, head_dim, from.value, from_token, to.value, to_token);
}

void read_key(KvType type, int head_dim, int token, const uint8_t* key_block, float* key) {
  const float scale =
      kv_has_scales(type)
          ? f16_to_f32(element<uint16_t>(key_block + kv_scales_offset(head_dim), token))
          : 1;
  for (int i = 0; i < head_dim; ++i) {
    const size_t at = key_index(type, head_dim, token, i);
    switch (type) {
      case KvType::kF32: key[i] = element<float>(key_block, at); break;
      case KvType::kBf16: key[i] = bf16_to_f32(element<uint16_t>(key_block, at)); break;
      case KvType::kFp16: key[i] = f16_to_f32(element<uint16_t>(key_block, at)); break;
      case KvType::kFp8: key[i] = e4m3_to_f32(key_block[at]) * scale; break;
      case KvType::kInt8: key[i] = static_cast<float>(key_block[at] - 128) * scale; break;
    }
  }
}

}  // namespace cascade
