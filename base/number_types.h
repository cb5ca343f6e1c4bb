// The number formats that weights and KV pages are held in, and their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class WeightType : uint8_t { kF32, kBf16 };
enum class KvType : uint8_t { kF32, kBf16 };

// "f32", "bf16".
std::string_view to_string(WeightType type);
std::string_view to_string(KvType type);
std::optional<WeightType> weight_type_from_string(std::string_view name);
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

// IEEE 754 binary16 to binary32; exact.
float f16_to_f32(uint16_t bits);

}  // namespace cascade
