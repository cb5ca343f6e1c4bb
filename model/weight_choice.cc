// Counts bytes, because memory and the time of a step depend on them.
#include "model/weight_choice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "kernels/record_format.h"
#include "model/gguf/dequantize.h"

namespace cascade {
namespace {

WeightType suitable(TensorType type) {
  if (const auto k_quant = k_quant_of(type)) return *k_quant;
  if (keeps_blocks(type, WeightType::kMxfp4)) return WeightType::kMxfp4;
  if (keeps_blocks(type, WeightType::kInt4)) return WeightType::kInt4;
  return describe(type).block_values > 1 ? WeightType::kInt8 : WeightType::kBf16;
}

}  // namespace

WeightChoice choose_weights(const TensorFiles& files) {
  const std::map<std::string, uint64_t> bytes = files.bytes_by_type();
  std::map<WeightType, uint64_t> wanted = {{WeightType::kBf16, 0}};
  uint64_t all = 0;
  for (const auto& [name, count] : bytes) {
    const auto type = tensor_type_from_string(name);
    all += count;
    if (type) wanted[suitable(*type)] += count;  // other types are refused when they are read
  }
  const auto most = std::ranges::max_element(wanted, {}, [](const auto& w) { return w.second; });
  const WeightPlan plan(most->first, /*as_in_files=*/true);
  // The types that led to this choice, the most frequent first.
  std::vector<std::pair<uint64_t, std::string>> names;
  for (const auto& [name, count] : bytes) {
    const auto type = tensor_type_from_string(name);
    if (type && suitable(*type) == plan.type && count > 0) names.emplace_back(count, name);
  }
  std::ranges::sort(names, std::greater());
  std::string why;
  for (const auto& [count, name] : names) why += (why.empty() ? "" : " and ") + name;
  if (all == 0) return {plan, "there are none"};
  const double share = static_cast<double>(most->second) / static_cast<double>(all);
  const bool some_quantized =
      is_quantized(plan.type) ||
      std::ranges::any_of(wanted, [](const auto& each) { return has_records(each.first); });
  return {plan, std::to_string(std::lround(100 * share)) + " % of their bytes are " + why,
          some_quantized};
}

std::string describe_types(WeightType main, std::vector<WeightType> types) {
  std::ranges::stable_partition(types, [&](WeightType type) { return type == main; });
  std::string names;
  for (size_t i = 0; i < types.size(); ++i) {
    names += i == 0 ? "" : i + 1 < types.size() ? ", " : " and ";
    names += to_string(types[i]);
  }
  return names;
}

}  // namespace cascade
