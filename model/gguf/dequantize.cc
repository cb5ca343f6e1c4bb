// The block formats of GGUF tensors: 32 or 256 values with shared scales. Bytes are unsigned, bits
// counted from the lowest; f16 numbers are little-endian.
#include "model/gguf/dequantize.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/number_types.h"
#include "kernels/k_quant_matrix.h"
#include "kernels/mxfp4_matrix.h"

namespace cascade {
namespace {

constexpr int kSmallBlock = 32;
constexpr int kSuperBlock = 256;
static_assert(kSmallBlock == kBlock);

uint16_t read_u16(const uint8_t* from) {
  return static_cast<uint16_t>(from[0] | from[1] << 8);
}

uint32_t read_u32(const uint8_t* from) {
  return uint32_t{read_u16(from)} | uint32_t{read_u16(from + 2)} << 16;
}

float read_f16(const uint8_t* from) {
  return f16_to_f32(read_u16(from));
}

// The sixteen values of IQ4_NL and IQ4_XS, finer around 0.
constexpr std::array<float, 16> kNonLinear = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};

// d f16, 16 bytes of nibbles: low ones are values 0..15, high ones 16..31. w = (q - 8) d
void q4_0(const uint8_t* block, float* out) {
  const float d = read_f16(block);
  for (int i = 0; i < kSmallBlock / 2; ++i) {
    const int byte = block[2 + i];
    out[i] = static_cast<float>((byte & 15) - 8) * d;
    out[i + 16] = static_cast<float>((byte >> 4) - 8) * d;
  }
}

// d f16, m f16, nibbles. w = q d + m
void q4_1(const uint8_t* block, float* out) {
  const float d = read_f16(block);
  const float m = read_f16(block + 2);
  for (int i = 0; i < kSmallBlock / 2; ++i) {
    const int byte = block[4 + i];
    out[i] = static_cast<float>(byte & 15) * d + m;
    out[i + 16] = static_cast<float>(byte >> 4) * d + m;
  }
}

// The five-bit values of Q5_0 and Q5_1: `high` has the fifth bits, value i in bit i.
int five_bits(const uint8_t* nibbles, uint32_t high, int i) {
  const int nibble = i < 16 ? nibbles[i] & 15 : nibbles[i - 16] >> 4;
  return nibble | static_cast<int>(high >> i & 1) << 4;
}

// d f16, u32 of fifth bits, nibbles. w = (q - 16) d
void q5_0(const uint8_t* block, float* out) {
  const float d = read_f16(block);
  const uint32_t high = read_u32(block + 2);
  for (int i = 0; i < kSmallBlock; ++i) {
    out[i] = static_cast<float>(five_bits(block + 6, high, i) - 16) * d;
  }
}

// d f16, m f16, u32 of fifth bits, nibbles. w = q d + m
void q5_1(const uint8_t* block, float* out) {
  const float d = read_f16(block);
  const float m = read_f16(block + 2);
  const uint32_t high = read_u32(block + 4);
  for (int i = 0; i < kSmallBlock; ++i) {
    out[i] = static_cast<float>(five_bits(block + 8, high, i)) * d + m;
  }
}

// d f16, 32 signed bytes. w = q d
void q8_0(const uint8_t* block, float* out) {
  const float d = read_f16(block);
  for (int i = 0; i < kSmallBlock; ++i) {
    out[i] = static_cast<float>(static_cast<int8_t>(block[2 + i])) * d;
  }
}

// d f16, nibbles that choose from a table.
void iq4_nl(const uint8_t* block, float* out) {
  const float d = read_f16(block);
  for (int i = 0; i < kSmallBlock / 2; ++i) {
    out[i] = kNonLinear[block[2 + i] & 15] * d;
    out[i + 16] = kNonLinear[block[2 + i] >> 4] * d;
  }
}

// 16 bytes of scales (low nibble) and offsets (high), one for each 16 values; 64 bytes of two-bit
// values; d f16, dmin f16. A half of 128 values has 32 bytes: value 32 j + l is in bits 2 j of byte
// l. w = d scale q - dmin offset
void q2_k(const uint8_t* block, float* out) {
  const uint8_t* scales = block;
  const uint8_t* values = block + 16;
  const float d = read_f16(block + 80);
  const float dmin = read_f16(block + 82);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int scale = scales[i / 16];
    const int q = values[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    out[i] = d * static_cast<float>(scale & 15) * static_cast<float>(q) -
             dmin * static_cast<float>(scale >> 4);
  }
}

// Q3_K, Q4_K, Q5_K and Q6_K.
template <TensorType kType>
void k_quant(const uint8_t* block, float* out) {
  KQuantGroup groups[kSuperBlock / kGroup];
  read_k_quant_groups(kType, block, std::size(groups), groups);
  const RecordFormat format = record_format(*k_quant_of(kType));
  for (const KQuantGroup& group : groups) {
    k_quant_values(format, group, out);
    out += kGroup;
  }
}

// d f16, u16 of the top two bits of eight scales, 4 bytes of their low nibbles; 128 bytes of
// nibbles that choose from the table: a part of 32 values has 16 bytes. w = d (scale - 32) table[q]
void iq4_xs(const uint8_t* block, float* out) {
  const float d = read_f16(block);
  const int top = read_u16(block + 2);
  for (int part = 0; part < 8; ++part) {
    const int low = block[4 + part / 2] >> (part % 2 * 4) & 15;
    const float scale = d * static_cast<float>((low | (top >> (2 * part) & 3) << 4) - 32);
    const uint8_t* bytes = block + 8 + 16 * part;
    for (int i = 0; i < 16; ++i) {
      out[32 * part + i] = kNonLinear[bytes[i] & 15] * scale;
      out[32 * part + i + 16] = kNonLinear[bytes[i] >> 4] * scale;
    }
  }
}

// The exponent of the scale, then 16 bytes: the low halves are the codes of the first 16 values.
Mxfp4Block mxfp4_block(const uint8_t* from) {
  Mxfp4Block block;
  block.scale = from[0];
  for (int i = 0; i < 16; ++i) {
    block.codes[i] = from[1 + i] & 15;
    block.codes[i + 16] = from[1 + i] >> 4;
  }
  return block;
}

// The same in checkpoints of gpt-oss: 16 bytes, of which each has two neighbours, the first one in
// its low half.
Mxfp4Block mxfp4_block(const uint8_t* from, uint8_t scale) {
  Mxfp4Block block;
  block.scale = scale;
  for (int i = 0; i < 16; ++i) {
    block.codes[2 * i] = from[i] & 15;
    block.codes[2 * i + 1] = from[i] >> 4;
  }
  return block;
}

void mxfp4(const uint8_t* block, float* out) {
  mxfp4_values(mxfp4_block(block), out);
}

using BlockReader = void (*)(const uint8_t* block, float* out);

BlockReader reader_of(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0: return q4_0;
    case TensorType::kQ4_1: return q4_1;
    case TensorType::kQ5_0: return q5_0;
    case TensorType::kQ5_1: return q5_1;
    case TensorType::kQ8_0: return q8_0;
    case TensorType::kQ2K: return q2_k;
    case TensorType::kQ3K: return k_quant<TensorType::kQ3K>;
    case TensorType::kQ4K: return k_quant<TensorType::kQ4K>;
    case TensorType::kQ5K: return k_quant<TensorType::kQ5K>;
    case TensorType::kQ6K: return k_quant<TensorType::kQ6K>;
    case TensorType::kIq4Nl: return iq4_nl;
    case TensorType::kIq4Xs: return iq4_xs;
    case TensorType::kMxfp4: return mxfp4;
    case TensorType::kF32:
    case TensorType::kF16:
    case TensorType::kBf16:
    case TensorType::kMxfp4Apart:
    case TensorType::kU8: break;
  }
  return nullptr;
}

}  // namespace

void dequantize_blocks(TensorType type, const uint8_t* from, size_t count, float* out) {
  const BlockReader read = reader_of(type);
  CHECK(read != nullptr);
  const TensorTypeInfo& info = describe(type);
  CHECK(count % info.block_values == 0);
  for (size_t i = 0; i < count; i += info.block_values) {
    read(from, out + i);
    from += info.block_bytes;
  }
}

bool keeps_blocks(TensorType type, WeightType weights) {
  if (is_k_quant(weights)) return k_quant_of(type) == weights;
  if (weights == WeightType::kMxfp4) {
    return type == TensorType::kMxfp4 || type == TensorType::kMxfp4Apart;
  }
  if (weights == WeightType::kInt4) return type == TensorType::kQ4_0;
  if (weights != WeightType::kInt8) return false;
  return type == TensorType::kQ8_0 || type == TensorType::kQ5_0 || type == TensorType::kQ4_0;
}

void read_weight_blocks(TensorType type, const uint8_t* from, size_t count, WeightBlock* out) {
  CHECK(keeps_blocks(type, WeightType::kInt8));
  const size_t block_bytes = describe(type).block_bytes;
  for (size_t block = 0; block < count; ++block, from += block_bytes, ++out) {
    out->scale = read_u16(from);
    if (type == TensorType::kQ8_0) {
      std::memcpy(out->q, from + 2, kSmallBlock);
      continue;
    }
    const bool five = type == TensorType::kQ5_0;
    const uint32_t high = five ? read_u32(from + 2) : 0;
    const uint8_t* nibbles = from + (five ? 6 : 2);
    const int zero = five ? 16 : 8;
    for (int i = 0; i < kSmallBlock; ++i) {
      out->q[i] = static_cast<int8_t>(five_bits(nibbles, high, i) - zero);
    }
  }
}

void read_mxfp4_blocks(const Tensor& tensor, size_t first, size_t count, Mxfp4Block* out) {
  CHECK(keeps_blocks(tensor.type, WeightType::kMxfp4));
  const size_t block_bytes = describe(tensor.type).block_bytes;
  const uint8_t* from = tensor.bytes.data() + first * block_bytes;
  for (size_t i = 0; i < count; ++i, from += block_bytes) {
    out[i] = tensor.type == TensorType::kMxfp4 ? mxfp4_block(from)
                                               : mxfp4_block(from, tensor.scales[first + i]);
  }
}

}  // namespace cascade
