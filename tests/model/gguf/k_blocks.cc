// Values as blocks of the K types. The bytes and shifts are those of model/gguf/k_quant_blocks.cc.
#include "tests/model/gguf/k_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/number_types.h"

namespace cascade::testing {
namespace {

// Sets bits that are zero so far, from bit `shift` of byte `at` on.
void set_bits(std::string& block, size_t at, size_t shift, int value) {
  block[at] = static_cast<char>(static_cast<uint8_t>(block[at]) | value << shift);
}

void set_f16(std::string& block, size_t at, float value) {
  const int bits = f32_to_f16(value);
  set_bits(block, at, 0, bits & 255);
  set_bits(block, at + 1, 0, bits >> 8);
}

// The integer of [low, high], a range around 0, that is nearest to value / scale. It is 0 if the
// scale is 0.
int nearest_integer(float value, float scale, int low, int high) {
  if (!(scale > 0)) return 0;
  return static_cast<int>(std::clamp(std::lround(value / scale), long{low}, long{high}));
}

// Numbers of a block's parts as products of integers and `d`, which f16 holds exactly.
struct SharedFactor {
  float d;
  std::vector<int> integers;

  float product(size_t part) const { return d * static_cast<float>(integers[part]); }
};

// The numbers are not negative. The largest becomes `integer_max`.
SharedFactor share_factor(const std::vector<float>& numbers, int integer_max) {
  const float largest = *std::max_element(numbers.begin(), numbers.end());
  SharedFactor shared;
  shared.d = f16_to_f32(f32_to_f16(largest / static_cast<float>(integer_max)));
  for (const float number : numbers) {
    shared.integers.push_back(nearest_integer(number, shared.d, 0, integer_max));
  }
  return shared;
}

// Q3_K and Q6_K: w = scale (q - q_max - 1)
struct CentredBlock {
  SharedFactor scales;
  std::array<int, kKBlock> q;
};

CentredBlock centred_block(const float* x, int q_max, int scale_max) {
  std::vector<float> scales;
  for (const float* part = x; part < x + kKBlock; part += 16) {
    float largest = 0;
    for (int l = 0; l < 16; ++l) largest = std::max(largest, std::abs(part[l]));
    scales.push_back(largest / static_cast<float>(q_max));
  }
  CentredBlock block = {share_factor(scales, scale_max), {}};
  for (size_t i = 0; i < kKBlock; ++i) {
    const float scale = block.scales.product(i / 16);
    block.q[i] = nearest_integer(x[i], scale, -q_max - 1, q_max) + q_max + 1;
  }
  return block;
}

// Q4_K and Q5_K: w = scale q - offset
struct OffsetBlock {
  SharedFactor scales;
  SharedFactor offsets;
  std::array<int, kKBlock> q;
};

OffsetBlock offset_block(const float* x, int q_max) {
  std::vector<float> scales;
  std::vector<float> offsets;
  for (const float* part = x; part < x + kKBlock; part += 32) {
    const auto [lowest, highest] = std::minmax_element(part, part + 32);
    offsets.push_back(std::max(0.0f, -*lowest));
    scales.push_back((*highest + offsets.back()) / static_cast<float>(q_max));
  }
  OffsetBlock block = {share_factor(scales, 63), share_factor(offsets, 63), {}};
  for (size_t i = 0; i < kKBlock; ++i) {
    const float above_lowest = x[i] + block.offsets.product(i / 32);
    block.q[i] = nearest_integer(above_lowest, block.scales.product(i / 32), 0, q_max);
  }
  return block;
}

// Writes what Q4_K and Q5_K have in common: the first 16 bytes, and the nibbles from byte `nibbles`
// on.
void write_offset_block(std::string& out, const OffsetBlock& block, size_t nibbles) {
  set_f16(out, 0, block.scales.d);
  set_f16(out, 2, block.offsets.d);
  const size_t packed = 4;
  for (size_t part = 0; part < 8; ++part) {
    const int scale = block.scales.integers[part];
    const int offset = block.offsets.integers[part];
    if (part < 4) {
      set_bits(out, packed + part, 0, scale);
      set_bits(out, packed + part + 4, 0, offset);
    } else {
      set_bits(out, packed + part + 4, 0, scale & 15);
      set_bits(out, packed + part + 4, 4, offset & 15);
      set_bits(out, packed + part - 4, 6, scale >> 4);
      set_bits(out, packed + part, 6, offset >> 4);
    }
  }
  for (size_t i = 0; i < kKBlock; ++i) {
    set_bits(out, nibbles + i / 64 * 32 + i % 32, i / 32 % 2 * 4, block.q[i] & 15);
  }
}

}  // namespace

std::string encode_q3_k(const float* x) {
  const CentredBlock block = centred_block(x, 3, 31);
  std::string out(110, '\0');
  for (size_t i = 0; i < kKBlock; ++i) {
    set_bits(out, i % 32, i / 32, block.q[i] >> 2);
    set_bits(out, 32 + i / 128 * 32 + i % 32, i % 128 / 32 * 2, block.q[i] & 3);
  }
  for (size_t part = 0; part < 16; ++part) {
    const int scale = block.scales.integers[part] + 32;
    set_bits(out, 96 + part % 8, part / 8 * 4, scale & 15);
    set_bits(out, 104 + part % 4, part / 4 * 2, scale >> 4);
  }
  set_f16(out, 108, block.scales.d);
  return out;
}

std::string encode_q4_k(const float* x) {
  std::string out(144, '\0');
  write_offset_block(out, offset_block(x, 15), 16);
  return out;
}

std::string encode_q5_k(const float* x) {
  const OffsetBlock block = offset_block(x, 31);
  std::string out(176, '\0');
  write_offset_block(out, block, 48);
  for (size_t i = 0; i < kKBlock; ++i) set_bits(out, 16 + i % 32, i / 32, block.q[i] >> 4);
  return out;
}

std::string encode_q6_k(const float* x) {
  const CentredBlock block = centred_block(x, 31, 127);
  std::string out(210, '\0');
  for (size_t i = 0; i < kKBlock; ++i) {
    set_bits(out, i / 128 * 64 + i % 64, i % 128 / 64 * 4, block.q[i] & 15);
    set_bits(out, 128 + i / 128 * 32 + i % 32, i % 128 / 32 * 2, block.q[i] >> 4);
  }
  for (size_t part = 0; part < 16; ++part) {
    set_bits(out, 192 + part, 0, block.scales.integers[part]);
  }
  set_f16(out, 208, block.scales.d);
  return out;
}

}  // namespace cascade::testing
