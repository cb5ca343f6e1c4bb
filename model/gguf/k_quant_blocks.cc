// Bytes are unsigned, bits counted from the lowest; f16 numbers are little-endian. A super-block
// has 256 values; its halves are groups with the same units.
#include "model/gguf/k_quant_blocks.h"

#include "base/check.h"

namespace cascade {
namespace {

uint16_t unit_at(const uint8_t* from) {
  return static_cast<uint16_t>(from[0] | from[1] << 8);
}

// The scales and offsets of Q4_K and Q5_K, eight of each in 12 bytes. The first four scales are in
// the low six bits of bytes 0..3, the first four offsets in those of bytes 4..7. The others have
// their low four bits in bytes 8..11 (scales in the low nibble), and their top two bits in the top
// bits of bytes 0..3 (scales) and 4..7 (offsets).
void read_levels(const uint8_t* packed, KQuantGroup* groups) {
  for (int i = 0; i < 4; ++i) {
    groups[0].scales[i] = packed[i] & 63;
    groups[0].offsets[i] = packed[i + 4] & 63;
    groups[1].scales[i] = static_cast<int16_t>((packed[i + 8] & 15) | packed[i] >> 6 << 4);
    groups[1].offsets[i] = static_cast<uint8_t>(packed[i + 8] >> 4 | packed[i + 4] >> 6 << 4);
  }
}

// d f16, dmin f16, 12 bytes of scales and offsets, one for each 32 values; Q5_K: 32 bytes of fifth
// bits, value 32 part + l in bit `part` of byte l; 128 bytes of nibbles. Each 64 values take 32
// bytes: the low nibbles are the first 32 values, the high nibbles the others.
// w = d scale q - dmin offset
template <bool kFive>
void read_with_offsets(const uint8_t* block, KQuantGroup* groups) {
  for (int half = 0; half < 2; ++half) {
    groups[half].unit = unit_at(block);
    groups[half].offset_unit = unit_at(block + 2);
  }
  read_levels(block + 4, groups);
  const uint8_t* fifth = block + 16;
  const uint8_t* nibbles = kFive ? block + 48 : block + 16;
  for (int part = 0; part < 8; ++part) {
    const uint8_t* bytes = nibbles + part / 2 * 32;
    uint8_t* q = groups[part / 4].q + part % 4 * 32;
    const int shift = part % 2 * 4;
    for (int l = 0; l < 32; ++l) {
      const int above = kFive ? (fifth[l] >> part & 1) << 4 : 0;
      q[l] = static_cast<uint8_t>((bytes[l] >> shift & 15) | above);
    }
  }
}

// 128 bytes of low nibbles, 64 bytes of two top bits, 16 signed scales, one for each 16 values; d
// f16. A half of 128 values has 64 bytes of nibbles and 32 bytes of top bits: value 32 j + l is in
// the low (j < 2) or high nibble of byte 32 (j % 2) + l, and in bits 2 j of byte l.
// w = d scale (q - 32)
void read_q6_k(const uint8_t* block, KQuantGroup* groups) {
  for (int half = 0; half < 2; ++half) {
    KQuantGroup& group = groups[half];
    group.unit = unit_at(block + 208);
    group.offset_unit = 0;
    const uint8_t* top = block + 128 + 32 * half;
    for (int j = 0; j < 4; ++j) {
      const uint8_t* low = block + 64 * half + 32 * (j % 2);
      for (int l = 0; l < 32; ++l) {
        group.q[32 * j + l] =
            static_cast<uint8_t>((low[l] >> (j / 2 * 4) & 15) | (top[l] >> (2 * j) & 3) << 4);
      }
    }
    for (int i = 0; i < 8; ++i) {
      group.scales[i] = static_cast<int8_t>(block[192 + 8 * half + i]);
    }
  }
}

// 32 bytes of third bits: value 32 j + l is in bit j of byte l; 64 bytes of low bits: a half of 128
// values has 32 bytes, value 32 j + l is in bits 2 j of byte l; 12 bytes of sixteen six-bit scales;
// d f16. w = d (scale - 32) (q - 4)
void read_q3_k(const uint8_t* block, KQuantGroup* groups) {
  const uint8_t* packed = block + 96;
  for (int half = 0; half < 2; ++half) {
    KQuantGroup& group = groups[half];
    group.unit = unit_at(block + 108);
    group.offset_unit = 0;
    for (int i = 0; i < 8; ++i) {
      const int low = half == 0 ? packed[i] & 15 : packed[i] >> 4;
      const int top = packed[8 + i % 4] >> ((8 * half + i) / 4 * 2) & 3;
      group.scales[i] = static_cast<int16_t>((low | top << 4) - 32);
    }
    for (int j = 0; j < 4; ++j) {
      const uint8_t* low = block + 32 + 32 * half;
      for (int l = 0; l < 32; ++l) {
        const int q = (low[l] >> (2 * j) & 3) | (block[l] >> (4 * half + j) & 1) << 2;
        group.q[32 * j + l] = static_cast<uint8_t>(q - 4 + 32);
      }
    }
  }
}

}  // namespace

std::optional<WeightType> k_quant_of(TensorType type) {
  switch (type) {
    case TensorType::kQ4K: return WeightType::kQ4K;
    case TensorType::kQ5K: return WeightType::kQ5K;
    case TensorType::kQ6K:
    case TensorType::kQ3K: return WeightType::kQ6K;
    default: return std::nullopt;
  }
}

void read_k_quant_groups(TensorType type, const uint8_t* from, size_t count, KQuantGroup* out) {
  CHECK(k_quant_of(type) && count % 2 == 0);
  const auto read = type == TensorType::kQ4K   ? read_with_offsets<false>
                    : type == TensorType::kQ5K ? read_with_offsets<true>
                    : type == TensorType::kQ6K ? read_q6_k
                                               : read_q3_k;
  const size_t block_bytes = describe(type).block_bytes;
  for (size_t i = 0; i < count; i += 2, from += block_bytes) {
    read(from, out + i);
  }
}

}  // namespace cascade
