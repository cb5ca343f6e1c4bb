// The number formats of weights and KV pages, their names and conversions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cascade {

// kInt8: symmetric, one scale for each 128 weights of an output channel; kInt4: one for each 32.
// K-quants have 4, 5 or 6 bits, and scales of two levels: kQ4K, kQ5K with an offset for each 32
// weights, kQ6K symmetric (kernels/record_format.h). kMxfp4: floats of four bits, with a power of
// two for each 32 (OCP Microscaling Formats, version 1.0).
enum class WeightType : uint8_t { kF32, kBf16, kInt8, kInt4, kQ4K, kQ5K, kQ6K, kMxfp4 };
// kFp8 (e4m3) and kInt8 have one scale for each token and head.
enum class KvType : uint8_t { kF32, kBf16, kFp16, kFp8, kInt8 };

inline constexpr WeightType kWeightTypes[] = {
    WeightType::kF32, WeightType::kBf16, WeightType::kInt8, WeightType::kInt4,
    WeightType::kQ4K, WeightType::kQ5K,  WeightType::kQ6K,  WeightType::kMxfp4};
[[gnu::always_inline]] inline constexpr bool is_k_quant(WeightType type) {
  return type == WeightType::kQ4K || type == WeightType::kQ5K || type == WeightType::kQ6K;
}
// Whether matrices of this type are multiplied by quantised input rows (kernels/quantized_rows.h).
[[gnu::always_inline]] inline constexpr bool is_quantized(WeightType type) {
  return type != WeightType::kF32 && type != WeightType::kBf16;
}
inline constexpr KvType kKvTypes[] = {KvType::kF32, KvType::kBf16, KvType::kFp16, KvType::kFp8,
                                      KvType::kInt8};

// "f32", "bf16", "int8", "int4", "q4k", "q5k", "q6k", "mxfp4".
std::string_view to_string(WeightType type);
std::optional<WeightType> weight_type_from_string(std::string_view name);
inline constexpr std::string_view kWeightTypeNames =
    "f32, bf16, int8, int4, q4k, q5k, q6k or mxfp4";
// "f32", "bf16", "fp16", "fp8", "int8".
std::string_view to_string(KvType type);
std::optional<KvType> kv_type_from_string(std::string_view name);

// bf16 is the upper half of an f32: widening is exact.
[[gnu::always_inline]] inline float bf16_to_f32(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
[[gnu::always_inline]] inline uint16_t f32_to_bf16(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

// IEEE 754 binary16. Widening is exact; narrowing rounds to nearest, ties to even, and gives
// infinity beyond 65,504; a NaN stays a NaN. There are no branches, so that loops over many values
// become vector code. The shifted bits are too small by the factor 2^112, also for subnormal
// numbers; a multiplication corrects this.
[[gnu::always_inline]] inline float f16_to_f32(uint16_t bits) {
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFu) << 13;
  float value;
  __builtin_memcpy(&value, &magnitude, sizeof value);
  value *= 0x1p112f;
  uint32_t wide;
  __builtin_memcpy(&wide, &value, sizeof wide);
  wide |= static_cast<uint32_t>(bits & 0x8000u) << 16;
  // Infinity, and the one quiet NaN.
  wide = magnitude == 0x7C00u << 13 ? wide | 0x7F800000u : wide;
  wide = magnitude > 0x7C00u << 13 ? 0x7FC00000u : wide;
  __builtin_memcpy(&value, &wide, sizeof value);
  return value;
}
uint16_t f32_to_f16(float value);
[[gnu::always_inline]] inline bool is_finite_f16(uint16_t bits) {
  return (bits & 0x7C00u) != 0x7C00u;
}

// Whether the bits of all values, without the sign, are less than `limit`. Numbers of larger
// magnitude have larger bits, and infinity and NaNs have the largest. The loop does not end early,
// so that it becomes vector code.
inline bool all_below(std::span<const float> values, uint32_t limit) {
  uint32_t carries = 0;
  for (const float value : values) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    carries |= (bits & 0x7FFFFFFFu) + (0x80000000u - limit);
  }
  return carries >> 31 == 0;
}
// Whether no value is infinite or a NaN.
inline bool all_finite(std::span<const float> values) {
  return all_below(values, 0x7F800000u);
}
// Whether no value is infinite or a NaN in bf16: the largest numbers of f32 round to infinity.
inline bool all_finite_in_bf16(std::span<const float> values) {
  return all_below(values, 0x7F7F8000u);
}

// e4m3 of the OCP 8-bit floating point specification (2023): no infinities; 448 is the largest
// number, 2^-9 the smallest above 0. Narrowing rounds to nearest, ties to even; larger values
// become 448; a NaN stays a NaN.
inline constexpr float kE4m3Max = 448.0f;
float e4m3_to_f32(uint8_t bits);
uint8_t f32_to_e4m3(float value);

}  // namespace cascade
