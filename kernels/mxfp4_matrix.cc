// The panels of MXFP4: rounding, and blocks to words and back.
#include "kernels/mxfp4_matrix.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/rounding.h"

namespace cascade {
namespace {

constexpr RecordFormat kFormat = record_format(WeightType::kMxfp4);
constexpr int kBlocksOfGroup = kGroup / kBlock;
constexpr int kExponentOfLargest = 2;  // of e2m1: 6 = 1.5 * 2^2
constexpr int kE8m0Bias = 127;

int count_blocks(int k) {
  return (k + kBlock - 1) / kBlock;
}

// The code of a magnitude, to the nearest and in a tie the even code.
int code_of(float magnitude) {
  // The middle between each number and the next one; those before an even code belong to it.
  constexpr float kMiddles[7] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  int code = 0;
  for (int i = 0; i < 7; ++i) {
    code += i % 2 == 0 ? magnitude > kMiddles[i] : magnitude >= kMiddles[i];
  }
  return code;
}

// Writes block `index` of a row into its words.
void encode_block(const Mxfp4Block& block, int index, uint32_t* words) {
  uint32_t* record = words + static_cast<size_t>(index / kBlocksOfGroup) * kFormat.lines();
  const int s = index % kBlocksOfGroup;
  record[kFormat.scales_at()] |= uint32_t{block.scale} << (8 * s);
  uint32_t* low = record + kFormat.low_at() + s * kBlock / 8;
  for (int i = 0; i < kBlock; ++i) {
    low[i / 8] |= uint32_t{block.codes[i]} << (i % 4 * 8 + i % 8 / 4 * 4);
  }
}

}  // namespace

Mxfp4Block quantize_mxfp4(const float* weights, int count) {
  Mxfp4Block block = {};
  const float largest = largest_magnitude(weights, count);
  if (largest == 0) return block;
  constexpr int kExponentMax = 127;  // ilogb gives more for infinity, which is refused elsewhere
  const int exponent = std::min(std::ilogb(largest), kExponentMax) - kExponentOfLargest;
  block.scale = static_cast<uint8_t>(std::max(exponent + kE8m0Bias, 0));
  const float inverse_scale = std::ldexp(1.0f, kE8m0Bias - block.scale);
  for (int i = 0; i < count; ++i) {
    const int sign = std::signbit(weights[i]) ? 8 : 0;
    block.codes[i] = static_cast<uint8_t>(sign | code_of(std::fabs(weights[i]) * inverse_scale));
  }
  return block;
}

void encode_mxfp4_blocks(const PackedMatrix& matrix, const Mxfp4Block* blocks, uint32_t* words) {
  std::fill_n(words, static_cast<size_t>(matrix.groups()) * kFormat.lines(), 0u);
  for (int i = 0; i < count_blocks(matrix.k); ++i) encode_block(blocks[i], i, words);
}

void encode_mxfp4_row(const PackedMatrix& matrix, const float* row, uint32_t* words) {
  std::vector<Mxfp4Block> blocks;
  for (int k = 0; k < matrix.k; k += kBlock) {
    blocks.push_back(quantize_mxfp4(row + k, std::min(kBlock, matrix.k - k)));
  }
  encode_mxfp4_blocks(matrix, blocks.data(), words);
}

Mxfp4Block mxfp4_block(const PackedMatrix& matrix, int panel, int lane, int block) {
  const auto* record =
      reinterpret_cast<const uint32_t*>(matrix.panel(panel)) + lane +
      static_cast<size_t>(block / kBlocksOfGroup) * kFormat.lines() * kPanelChannels;
  const auto word = [&](int line) { return record[line * kPanelChannels]; };
  const int s = block % kBlocksOfGroup;
  Mxfp4Block out = {};
  out.scale = static_cast<uint8_t>(word(kFormat.scales_at()) >> (8 * s));
  for (int i = 0; i < kBlock; ++i) {
    const uint32_t eight = word(kFormat.low_at() + (s * kBlock + i) / 8);
    out.codes[i] = eight >> (i % 4 * 8 + i % 8 / 4 * 4) & 15;
  }
  return out;
}

void mxfp4_values(const Mxfp4Block& block, float* out) {
  const float unit = block.scale == kE8m0Nan ? NAN : half_of_e8m0(block.scale);
  for (int i = 0; i < kBlock; ++i) out[i] = unit * static_cast<float>(kTwiceE2m1[block.codes[i]]);
}

bool is_finite(const Mxfp4Block& block) {
  if (block.scale == kE8m0Nan) return false;
  int largest = 0;
  for (const uint8_t code : block.codes) largest = std::max<int>(largest, kTwiceE2m1[code & 7]);
  return std::isfinite(half_of_e8m0(block.scale) * static_cast<float>(largest));
}

void get_mxfp4_row(const PackedMatrix& matrix, int channel, float* row) {
  float values[kBlock];
  for (int k = 0; k < matrix.k; k += kBlock) {
    mxfp4_values(
        mxfp4_block(matrix, channel / kPanelChannels, channel % kPanelChannels, k / kBlock),
        values);
    std::copy_n(values, std::min(kBlock, matrix.k - k), row + k);
  }
}

}  // namespace cascade
