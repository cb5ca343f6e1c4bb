// Rounding to int8 and int4. Runs once for each weight of a model, on all threads; loops are
// written so that the compiler can use vectors.
#include "kernels/quantized_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/rounding.h"

namespace cascade {
namespace {

constexpr int kSubgroups = kGroup / kSubgroup;
constexpr int kInt4Min = -8, kInt4Max = 7;
constexpr int kMultiplierMax = 15;  // -8 * 15 fits int8 with room for its negative
constexpr int kBias = 128;

// Squared error of a subgroup with the step `step`.
float int4_error(const float* x, float step) {
  const float inv = inverse(step);
  float sum = 0;
  for (int i = 0; i < kSubgroup; ++i) {
    const float q = clamped(round_small(clamped(x[i] * inv, -100, 100)), kInt4Min, kInt4Max);
    const float error = x[i] - q * step;
    sum += error * error;
  }
  return sum;
}

struct Int4Choice {
  float error = INFINITY;
  float scale = 0;
  uint8_t multipliers[kSubgroups] = {1, 1, 1, 1};
};

// The best multipliers for one scale.
Int4Choice choose_multipliers(const float* x, float scale) {
  Int4Choice choice;
  choice.scale = scale;
  choice.error = 0;
  const float inv = inverse(scale);
  for (int s = 0; s < kSubgroups; ++s) {
    const float* part = x + s * kSubgroup;
    // Tries the step at which the largest weight just fits, and the next finer steps: a little
    // clipping often costs less than a coarser step.
    const float fits = largest_magnitude(part, kSubgroup) * inv / kInt4Max;
    const int coarsest = static_cast<int>(clamped(std::ceil(fits), 1, kMultiplierMax));
    float best = INFINITY;
    for (int m = std::max(1, coarsest - 2); m <= coarsest; ++m) {
      const float error = int4_error(part, scale * static_cast<float>(m));
      if (error < best) {
        best = error;
        choice.multipliers[s] = static_cast<uint8_t>(m);
      }
    }
    choice.error += best;
  }
  return choice;
}

// The number of the group's elements that the matrix has; the rest count as 0.
int group_count(const PackedMatrix& matrix, int group) {
  return std::min(kGroup, matrix.k - group * kGroup);
}

size_t scale_offset(const PackedMatrix& matrix, int lane, int index) {
  return matrix.scales_offset() + sizeof(uint16_t) * size_t(index * kPanelChannels + lane);
}

// Writes the bytes of `count` weights of a row, where `count` is a multiple of 8. Returns the end
// of these bytes.
uint8_t* encode_weights(WeightType type, const int8_t* q, int count, uint8_t* bytes) {
  if (type == WeightType::kInt8) {
    for (int i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(q[i] + kBias);
    return bytes + count;
  }
  for (int i = 0; i < count; i += 8) {
    for (int j = i; j < i + 4; ++j) {
      *bytes++ = static_cast<uint8_t>((q[j] - kInt4Min) | (q[j + 4] - kInt4Min) << 4);
    }
  }
  return bytes;
}

}  // namespace

QuantizedGroup quantize_int8(const float* weights, int count) {
  QuantizedGroup group = {};
  std::fill(std::begin(group.multipliers), std::end(group.multipliers), uint8_t{1});
  group.scale = bf16_up(largest_magnitude(weights, count) / 127.0f);
  const float inv = inverse(bf16_to_f32(group.scale));
  for (int i = 0; i < count; ++i) {
    group.q[i] = static_cast<int8_t>(round_small(clamped(weights[i] * inv, -127, 127)));
  }
  return group;
}

WeightBlock quantize_block(WeightType type, const float* weights) {
  const float units = type == WeightType::kInt8 ? 127.0f : static_cast<float>(kInt4Max);
  WeightBlock block = {};
  constexpr float kF16Max = 65504.0f;
  block.scale = f16_up(clamped(largest_magnitude(weights, kBlock) / units, 0, kF16Max));
  const float inv = inverse(f16_to_f32(block.scale));
  for (int i = 0; i < kBlock; ++i) {
    block.q[i] = static_cast<int8_t>(round_small(clamped(weights[i] * inv, -units, units)));
  }
  return block;
}

QuantizedGroup quantize_int4(const float* weights, int count) {
  float x[kGroup] = {};
  std::copy_n(weights, count, x);
  const float largest = largest_magnitude(x, count);
  Int4Choice best;
  // Tries the scales at which the largest weight is 7, 7.5 or 8 units of the coarsest multiplier.
  for (const float units : {7.0f, 7.5f, 8.0f}) {
    const float scale = bf16_to_f32(bf16_up(largest / (units * kMultiplierMax)));
    const Int4Choice choice = choose_multipliers(x, scale);
    if (choice.error < best.error) best = choice;
  }
  QuantizedGroup group = {};
  group.scale = f32_to_bf16(best.scale);
  for (int s = 0; s < kSubgroups; ++s) {
    group.multipliers[s] = best.multipliers[s];
    const float inv = inverse(best.scale * static_cast<float>(best.multipliers[s]));
    for (int i = s * kSubgroup; i < (s + 1) * kSubgroup; ++i) {
      const float q = round_small(clamped(x[i] * inv, -100, 100));
      group.q[i] = static_cast<int8_t>(clamped(q, kInt4Min, kInt4Max));
    }
  }
  return group;
}

size_t quantized_row_words(const PackedMatrix& matrix) {
  const size_t values_of_word = matrix.type == WeightType::kInt8 ? 4 : 8;
  return static_cast<size_t>(matrix.groups()) * kGroup / values_of_word;
}

void encode_quantized_row(const PackedMatrix& matrix, const float* row, int lane, uint32_t* words,
                          uint8_t* panel) {
  if (matrix.block_scales) {
    std::vector<WeightBlock> blocks;
    for (int k = 0; k < matrix.k; k += kBlock) {
      blocks.push_back(quantize_block(matrix.type, row + k));
    }
    return encode_blocks(matrix, blocks.data(), lane, words, panel);
  }
  auto* bytes = reinterpret_cast<uint8_t*>(words);
  const bool int8 = matrix.type == WeightType::kInt8;
  for (int g = 0; g < matrix.groups(); ++g) {
    const float* weights = row + g * kGroup;
    const int count = group_count(matrix, g);
    const QuantizedGroup group =
        int8 ? quantize_int8(weights, count) : quantize_int4(weights, count);
    std::memcpy(panel + scale_offset(matrix, lane, g), &group.scale, sizeof group.scale);
    bytes = encode_weights(matrix.type, group.q, kGroup, bytes);
    if (int8) continue;
    uint8_t* multipliers = panel + matrix.multipliers_offset() + g * 2 * kPanelChannels;
    for (int half = 0; half < 2; ++half) {
      multipliers[half * kPanelChannels + lane] =
          static_cast<uint8_t>(group.multipliers[2 * half] | group.multipliers[2 * half + 1] << 4);
    }
  }
}

void encode_blocks(const PackedMatrix& matrix, const WeightBlock* blocks, int lane, uint32_t* words,
                   uint8_t* panel) {
  auto* bytes = reinterpret_cast<uint8_t*>(words);
  const WeightBlock none = {};
  for (int i = 0; i < matrix.groups() * (kGroup / kBlock); ++i) {
    const WeightBlock& block = i < matrix.k / kBlock ? blocks[i] : none;
    std::memcpy(panel + scale_offset(matrix, lane, i), &block.scale, sizeof block.scale);
    bytes = encode_weights(matrix.type, block.q, kBlock, bytes);
  }
}

int quantized_weight(const PackedMatrix& matrix, int panel, int lane, int k) {
  const uint8_t* data = matrix.panel(panel);
  if (matrix.type == WeightType::kInt8) return data[int8_index(lane, k)];
  const uint8_t byte = data[int4_index(lane, k)];
  const int q = (k % 8 < 4 ? byte & 15 : byte >> 4) + kInt4Min;
  if (matrix.block_scales) return q + kBias;
  const int group = k / kGroup, subgroup = k % kGroup / kSubgroup;
  const uint8_t pair =
      data[matrix.multipliers_offset() + (group * 2 + subgroup / 2) * kPanelChannels + lane];
  const int m = subgroup % 2 == 0 ? pair & 15 : pair >> 4;
  return q * m + kBias;
}

float weight_scale(const PackedMatrix& matrix, int panel, int lane, int index) {
  uint16_t scale;
  std::memcpy(&scale, matrix.panel(panel) + scale_offset(matrix, lane, index), sizeof scale);
  return matrix.block_scales ? f16_to_f32(scale) : bf16_to_f32(scale);
}

void get_quantized_row(const PackedMatrix& matrix, int channel, float* row) {
  const int panel = channel / kPanelChannels, lane = channel % kPanelChannels;
  for (int k = 0; k < matrix.k; ++k) {
    const int q = quantized_weight(matrix, panel, lane, k) - kBias;
    row[k] = static_cast<float>(q) * weight_scale(matrix, panel, lane, k / matrix.scale_span());
  }
}

}  // namespace cascade
