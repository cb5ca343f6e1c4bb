// Clears the slots of a page that do not hold K and V of its tokens.
#include "model/kv_page.h"

#include <cstring>

#include "kernels/kv_format.h"

namespace cascade {
namespace {

void clear_scales(int from, uint8_t* scales) {
  const auto begin = static_cast<size_t>(from) * sizeof(uint16_t);
  std::memset(scales + begin, 0, kKvBlockTokens * sizeof(uint16_t) - begin);
}

void clear_keys(KvType type, int head_dim, int from, uint8_t* block) {
  const size_t element = kv_element_bytes(type);
  for (int token = from; token < kKvBlockTokens; ++token) {
    for (int channel = 0; channel < head_dim; ++channel) {
      const size_t at = key_index(type, head_dim, token, channel);
      std::memset(block + at * element, 0, element);
    }
  }
  if (kv_has_scales(type)) clear_scales(from, block + kv_scales_offset(head_dim));
}

void clear_values(KvType type, int head_dim, int from, uint8_t* block) {
  const size_t element = kv_element_bytes(type);
  const int width = padded_head_dim(head_dim);
  for (int token = from; token < kKvBlockTokens; ++token) {
    for (int channel = 0; channel < width; ++channel) {
      const size_t at = value_index(type, head_dim, token, channel);
      std::memset(block + at * element, 0, element);
    }
  }
  if (kv_has_scales(type)) clear_scales(from, block + kv_scales_offset(width));
}

}  // namespace

void clear_slots(const KvLayout& layout, int from, uint8_t* page) {
  for (int part = 0; part < layout.part_count(); ++part) {
    const KvPartLayout& of = layout.parts[part];
    for (int head = 0; head < of.kv_heads; ++head) {
      clear_keys(layout.type, of.head_dim, from, page + layout.key_offset(part, head));
      clear_values(layout.type, of.head_dim, from, page + layout.value_offset(part, head));
    }
  }
}

}  // namespace cascade
