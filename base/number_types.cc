// Names of number formats, and the conversion of half floats.
#include "base/number_types.h"

#include <cmath>

namespace cascade {

std::string_view to_string(WeightType type) {
  return type == WeightType::kF32 ? "f32" : "bf16";
}

std::string_view to_string(KvType type) {
  return type == KvType::kF32 ? "f32" : "bf16";
}

std::optional<WeightType> weight_type_from_string(std::string_view name) {
  if (name == "f32") return WeightType::kF32;
  if (name == "bf16") return WeightType::kBf16;
  return std::nullopt;
}

std::optional<KvType> kv_type_from_string(std::string_view name) {
  if (name == "f32") return KvType::kF32;
  if (name == "bf16") return KvType::kBf16;
  return std::nullopt;
}

float f16_to_f32(uint16_t bits) {
  const float sign = (bits & 0x8000u) != 0 ? -1.0f : 1.0f;
  const int exponent = bits >> 10 & 31;
  const float mantissa = static_cast<float>(bits & 1023);
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024.0f + mantissa, exponent - 25);
}

}  // namespace cascade
