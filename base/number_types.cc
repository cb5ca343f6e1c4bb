// Names of number formats, and the conversions of narrow floats.
#include "base/number_types.h"

#include <cmath>
#include <cstring>

namespace cascade {
namespace {

// Rounds |value| to a float format with `mantissa_bits` and exponents from `exponent_min` up, and
// returns it as the format's bits: consecutive integers are consecutive numbers of the format.
uint32_t narrow(uint32_t magnitude_bits, int mantissa_bits, int exponent_min) {
  const int dropped = 23 - mantissa_bits;
  const int exponent = static_cast<int>(magnitude_bits >> 23) - 127;
  const uint32_t implicit = 1u << 23;
  if (exponent < exponent_min) {
    // Subnormal: the mantissa with its leading 1, shifted to the least exponent.
    const int shift = dropped + (exponent_min - exponent);
    if (shift > 25) return 0;
    const uint32_t mantissa = (magnitude_bits & (implicit - 1)) | implicit;
    const uint32_t half = 1u << (shift - 1);
    return (mantissa + half - 1 + (mantissa >> shift & 1)) >> shift;
  }
  const uint32_t half = 1u << (dropped - 1);
  const uint32_t rounded = (magnitude_bits + half - 1 + (magnitude_bits >> dropped & 1)) >> dropped;
  return rounded - (static_cast<uint32_t>(exponent_min + 126) << mantissa_bits);
}

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

std::string_view to_string(WeightType type) {
  switch (type) {
    case WeightType::kF32: return "f32";
    case WeightType::kBf16: return "bf16";
    case WeightType::kInt8: return "int8";
    case WeightType::kInt4: return "int4";
    case WeightType::kQ4K: return "q4k";
    case WeightType::kQ5K: return "q5k";
    case WeightType::kQ6K: return "q6k";
    case WeightType::kMxfp4: return "mxfp4";
  }
  return "unknown";
}

std::string_view to_string(KvType type) {
  switch (type) {
    case KvType::kF32: return "f32";
    case KvType::kBf16: return "bf16";
    case KvType::kFp16: return "fp16";
    case KvType::kFp8: return "fp8";
    case KvType::kInt8: return "int8";
  }
  return "unknown";
}

std::optional<WeightType> weight_type_from_string(std::string_view name) {
  for (const WeightType type : kWeightTypes) {
    if (to_string(type) == name) return type;
  }
  return std::nullopt;
}

std::optional<KvType> kv_type_from_string(std::string_view name) {
  for (const KvType type : kKvTypes) {
    if (to_string(type) == name) return type;
  }
  return std::nullopt;
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  const uint32_t sign = bits >> 16 & 0x8000u;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
  const uint32_t narrowed = magnitude >= 0x47800000u ? 0x7C00u : narrow(magnitude, 10, -14);
  return static_cast<uint16_t>(sign | narrowed);
}

float e4m3_to_f32(uint8_t bits) {
  const float sign = (bits & 0x80u) != 0 ? -1.0f : 1.0f;
  const int exponent = bits >> 3 & 15;
  const float mantissa = static_cast<float>(bits & 7);
  if (exponent == 15 && mantissa == 7) return NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, -9);
  return sign * std::ldexp(8.0f + mantissa, exponent - 10);
}

uint8_t f32_to_e4m3(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  const uint32_t sign = bits >> 24 & 0x80u;
  if (magnitude > 0x7F800000u) return static_cast<uint8_t>(sign | 0x7Fu);
  const uint32_t narrowed = magnitude >= bits_of(kE4m3Max) ? 0x7Eu : narrow(magnitude, 3, -6);
  return static_cast<uint8_t>(sign | narrowed);
}

}  // namespace cascade
