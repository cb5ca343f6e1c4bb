// Tries all types: describing the weights reads no matrix.
#include "daemon/stored_types.h"

#include <utility>
#include <vector>

namespace cascade {

std::optional<StoredTypes> types_with_key(const Model& model, const std::string& path,
                                          const Digest& key) {
  const auto files = open_model_tensors(path);
  if (!files.ok()) return std::nullopt;
  std::vector<std::pair<std::string, WeightPlan>> choices;
  for (const WeightType type : kWeightTypes) choices.emplace_back(to_string(type), type);
  choices.emplace_back("auto", choose_weights(*files).plan);
  for (const auto& [name, plan] : choices) {
    const auto packed = describe_weights(*files, model.config, plan, *model.kernels);
    if (!packed.ok()) continue;
    ModelOptions types = model.options;
    types.weight_type = plan.type;
    for (const KvType kv : kKvTypes) {
      types.kv_type = kv;
      if (model.root_key_with("", types, *packed) != key) continue;
      return StoredTypes{name, describe_types(plan.type, packed->types), kv};
    }
  }
  return std::nullopt;
}

}  // namespace cascade
