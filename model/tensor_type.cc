// The table of the number formats that tensors are stored in.
#include "model/tensor_type.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace cascade {
namespace {

constexpr std::array<TensorTypeInfo, 18> kTypes = {{
    {TensorType::kF32, "F32", 1, 4},
    {TensorType::kF16, "F16", 1, 2},
    {TensorType::kBf16, "BF16", 1, 2},
    {TensorType::kQ4_0, "Q4_0", 32, 18},
    {TensorType::kQ4_1, "Q4_1", 32, 20},
    {TensorType::kQ5_0, "Q5_0", 32, 22},
    {TensorType::kQ5_1, "Q5_1", 32, 24},
    {TensorType::kQ8_0, "Q8_0", 32, 34},
    {TensorType::kQ2K, "Q2_K", 256, 84},
    {TensorType::kQ3K, "Q3_K", 256, 110},
    {TensorType::kQ4K, "Q4_K", 256, 144},
    {TensorType::kQ5K, "Q5_K", 256, 176},
    {TensorType::kQ6K, "Q6_K", 256, 210},
    {TensorType::kIq4Nl, "IQ4_NL", 32, 18},
    {TensorType::kIq4Xs, "IQ4_XS", 256, 136},
    {TensorType::kMxfp4, "MXFP4", 32, 17},
    {TensorType::kMxfp4Apart, "MXFP4 (scales apart)", 32, 16},
    {TensorType::kU8, "U8", 1, 1},
}};

constexpr bool is_in_order() {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<size_t>(kTypes[i].type) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

const TensorTypeInfo& describe(TensorType type) {
  const auto index = static_cast<size_t>(type);
  CHECK(index < kTypes.size());
  return kTypes[index];
}

std::string_view to_string(TensorType type) {
  return describe(type).name;
}

std::optional<TensorType> tensor_type_from_string(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &TensorTypeInfo::name);
  if (found == kTypes.end()) return std::nullopt;
  return found->type;
}

}  // namespace cascade
