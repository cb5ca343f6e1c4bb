// Each family has keys, and values for keys that are left out, of its own; all are those of
// transformers' configuration classes.
#include "model/config_mixture.h"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "kernels/kernels.h"
#include "model/json_fields.h"

namespace cascade {
namespace {

// Several times the largest known models. An expert takes 8 channels at least.
constexpr int64_t kExpertsMax = 4096;
constexpr int64_t kExpertSizeMax = 1'048'576;
constexpr int64_t kSharedMax = 64;
constexpr int64_t kGranite4Shared = 1024;  // if the file does not have shared_intermediate_size
constexpr double kWeightScaleMin = 1e-6;
constexpr double kWeightScaleMax = 1e6;

// A whole number from 1 to `max`.
Result<int> count(const Json& config, std::string_view key, int64_t max) {
  ASSIGN_OR_RETURN(const int64_t value, required_int(config, key, 1, max));
  return static_cast<int>(value);
}
Result<int> count_or(const Json& config, std::string_view key, int64_t max, int64_t fallback) {
  ASSIGN_OR_RETURN(const int64_t value, optional_int(config, key, 1, max, fallback));
  return static_cast<int>(value);
}

// The number of experts, which files of transformers 5 name num_local_experts in all families.
Result<int> read_experts(const Json& config, std::string_view key) {
  constexpr std::string_view kOther = "num_local_experts";
  if (find_field(config, kOther) == nullptr) return count(config, key, kExpertsMax);
  ASSIGN_OR_RETURN(const int experts, count(config, kOther, kExpertsMax));
  ASSIGN_OR_RETURN(const int same, count_or(config, key, kExpertsMax, experts));
  if (same == experts) return experts;
  return invalid_argument(std::string(key), "is " + std::to_string(same) + ", but " +
                                                std::string(kOther) + " is " +
                                                std::to_string(experts));
}

// Checks that `size`, the value of `key`, is a width that kernels take.
Result<int> checked_width(std::string_view key, int64_t size) {
  constexpr int64_t kStep = 8;
  if (size % kStep == 0 && size <= kExpertSizeMax) return static_cast<int>(size);
  return invalid_argument(std::string(key), "must be a multiple of 8 and at most " +
                                                std::to_string(kExpertSizeMax) + ", got " +
                                                std::to_string(size));
}

Result<int> read_expert_size(const Json& config) {
  constexpr std::string_view kKey = "moe_intermediate_size";
  ASSIGN_OR_RETURN(const int64_t size, required_int(config, kKey, 1, kExpertSizeMax));
  return checked_width(kKey, size);
}

// `normalizes`: if the file does not have norm_topk_prob.
Status read_qwen(const Json& config, int layers, bool normalizes, MixtureConfig& out) {
  ASSIGN_OR_RETURN(out.experts, read_experts(config, "num_experts"));
  ASSIGN_OR_RETURN(out.intermediate_size, read_expert_size(config));
  ASSIGN_OR_RETURN(out.normalizes, optional_bool(config, "norm_topk_prob", normalizes));
  ASSIGN_OR_RETURN(const int step, count_or(config, "decoder_sparse_step", INT_MAX, 1));
  out.layers.resize(static_cast<size_t>(layers));
  for (int layer = 0; layer < layers; ++layer) {
    out.layers[static_cast<size_t>(layer)] = (int64_t{layer} + 1) % step == 0;
  }
  constexpr std::string_view kDense = "mlp_only_layers";
  const Json* dense = find_field(config, kDense);
  if (dense == nullptr) return {};
  if (!dense->is_array()) {
    return invalid_argument(std::string(kDense), "must be a list of layers");
  }
  for (const Json& layer : *dense) {
    const bool is_layer = layer.is_number_integer() && layer >= 0 && layer < layers;
    if (!is_layer) {
      return invalid_argument(std::string(kDense), "must have numbers of layers, from 0 to " +
                                                       std::to_string(layers - 1) + ", got " +
                                                       quote_text(layer.dump()));
    }
    out.layers[layer.get<size_t>()] = false;
  }
  return {};
}

// Reads the mixture of Qwen 1.5, 2, 3-Next and 3.5. The weight of its shared expert is the sigmoid
// of a gate.
Status read_qwen2(const Json& config, int layers, MixtureRule rule, MixtureConfig& out) {
  RETURN_IF_ERROR(read_qwen(config, layers, rule == MixtureRule::kQwenNext, out));
  if (rule == MixtureRule::kQwen35) {
    out.layers.assign(out.layers.size(), true);
    out.normalizes = true;
  }
  constexpr std::string_view kShared = "shared_expert_intermediate_size";
  ASSIGN_OR_RETURN(const int64_t size, required_int(config, kShared, 1, kExpertSizeMax));
  ASSIGN_OR_RETURN(out.shared_intermediate_size, checked_width(kShared, size));
  out.shared_gate = true;
  out.names = ExpertNames::kQwen2;
  return {};
}

// Makes every layer a mixture of experts of the size that MLPs have elsewhere.
void set_all_layers(const ModelConfig& model, MixtureConfig& out) {
  out.layers.assign(static_cast<size_t>(model.layers), true);
  out.intermediate_size = model.intermediate_size;
}

Status read_olmoe(const Json& config, const ModelConfig& model, MixtureConfig& out) {
  ASSIGN_OR_RETURN(out.experts, read_experts(config, "num_experts"));
  set_all_layers(model, out);
  ASSIGN_OR_RETURN(out.normalizes, optional_bool(config, "norm_topk_prob", false));
  return {};
}

// Reads the mixture of Granite 3 and 4. Granite 4 may have none: then the shared expert is the MLP.
Status read_granite(const Json& config, const ModelFamily& family, ModelConfig& model,
                    MixtureConfig& out) {
  constexpr std::string_view kKey = "num_local_experts";
  constexpr std::string_view kShared = "shared_intermediate_size";
  const bool is_granite4 = family.mixture == MixtureRule::kGranite4;
  ASSIGN_OR_RETURN(const int64_t experts,
                   required_int(config, kKey, is_granite4 ? 0 : 1, kExpertsMax));
  if (family.mixture != MixtureRule::kGranite) {
    const int64_t least = is_granite4 ? 1 : 0;
    const int64_t fallback = is_granite4 ? kGranite4Shared : 0;
    ASSIGN_OR_RETURN(const int64_t shared,
                     optional_int(config, kShared, least, kExpertSizeMax, fallback));
    ASSIGN_OR_RETURN(out.shared_intermediate_size, checked_width(kShared, shared));
  }
  out.names = ExpertNames::kGranite;
  if (experts == 0) {
    model.intermediate_size = std::exchange(out.shared_intermediate_size, 0);
    return {};
  }
  out.experts = static_cast<int>(experts);
  set_all_layers(model, out);
  out.normalizes = true;  // the softmax is over the chosen experts
  return {};
}

Status read_mixtral(const Json& config, const ModelConfig& model, MixtureConfig& out) {
  ASSIGN_OR_RETURN(out.experts, read_experts(config, "num_local_experts"));
  set_all_layers(model, out);
  out.normalizes = true;
  out.names = ExpertNames::kBlockSparse;
  return {};
}

Status read_gpt_oss(const Json& config, const ModelConfig& model, MixtureConfig& out) {
  ASSIGN_OR_RETURN(out.experts, read_experts(config, "num_local_experts"));
  set_all_layers(model, out);
  out.normalizes = true;  // the softmax is over the chosen experts
  out.router_bias = true;
  out.expert_bias = true;
  out.names = ExpertNames::kJoined;
  constexpr std::string_view kLimit = "swiglu_limit";
  ASSIGN_OR_RETURN(const double limit, optional_number(config, kLimit, 0, 1e6, kSwigluLimit));
  if (limit == double{kSwigluLimit}) return {};
  return unsupported(std::string(kLimit), "must be 7, got " + Json(limit).dump());
}

// The factor of all weights.
Result<float> read_weight_scale(const Json& config) {
  ASSIGN_OR_RETURN(const double scale, optional_number(config, "routed_scaling_factor",
                                                       kWeightScaleMin, kWeightScaleMax, 1));
  return static_cast<float>(scale);
}

// The router of DeepSeek V3, which GLM-4.5 took over.
Status read_glm(const Json& config, ModelConfig& model, MixtureConfig& out) {
  ASSIGN_OR_RETURN(out.experts, read_experts(config, "n_routed_experts"));
  ASSIGN_OR_RETURN(out.intermediate_size, read_expert_size(config));
  constexpr std::string_view kShared = "n_shared_experts";
  ASSIGN_OR_RETURN(const int64_t shared, optional_int(config, kShared, 0, kSharedMax, 1));
  ASSIGN_OR_RETURN(out.shared_intermediate_size,
                   checked_width(kShared, shared * out.intermediate_size));
  ASSIGN_OR_RETURN(const int64_t dense,
                   optional_int(config, "first_k_dense_replace", 0, INT_MAX, 1));
  out.layers.resize(static_cast<size_t>(model.layers));
  for (int layer = 0; layer < model.layers; ++layer) {
    out.layers[static_cast<size_t>(layer)] = layer >= dense;
  }
  out.score = RouterScore::kSigmoid;
  out.choice_bias = true;
  ASSIGN_OR_RETURN(out.groups, count_or(config, "n_group", kExpertsMax, 1));
  ASSIGN_OR_RETURN(out.chosen_groups, count_or(config, "topk_group", kExpertsMax, 1));
  ASSIGN_OR_RETURN(out.normalizes, optional_bool(config, "norm_topk_prob", true));
  ASSIGN_OR_RETURN(out.scale, read_weight_scale(config));
  ASSIGN_OR_RETURN(const int64_t drafts,
                   optional_int(config, "num_nextn_predict_layers", 0, kSharedMax, 1));
  model.draft_layers = static_cast<int>(drafts);
  return {};
}

Status read_lfm2(const Json& config, int layers, MixtureConfig& out) {
  ASSIGN_OR_RETURN(out.experts, read_experts(config, "num_experts"));
  ASSIGN_OR_RETURN(out.intermediate_size, read_expert_size(config));
  ASSIGN_OR_RETURN(const int64_t dense, optional_int(config, "num_dense_layers", 0, INT_MAX, 2));
  for (int layer = 0; layer < layers; ++layer) out.layers.push_back(layer >= dense);
  out.score = RouterScore::kSigmoid;
  ASSIGN_OR_RETURN(out.choice_bias, optional_bool(config, "use_expert_bias", true));
  ASSIGN_OR_RETURN(out.normalizes, optional_bool(config, "norm_topk_prob", true));
  out.sum_offset = 1e-6f;
  ASSIGN_OR_RETURN(out.scale, read_weight_scale(config));
  out.names = ExpertNames::kLfm2;
  return {};
}

Status read_gemma4_mixture(const Json& config, int layers, MixtureConfig& out) {
  ASSIGN_OR_RETURN(out.experts, read_experts(config, "num_experts"));
  ASSIGN_OR_RETURN(out.intermediate_size, read_expert_size(config));
  out.layers.assign(static_cast<size_t>(layers), true);
  out.normalizes = true;
  out.beside_mlp = true;
  out.names = ExpertNames::kBesideMlp;
  return {};
}

// A group's score is the sum of its two best experts.
Status check_groups(const MixtureConfig& mixture, std::string_view chosen_key) {
  if (mixture.groups > 1 &&
      (mixture.experts % mixture.groups != 0 || mixture.experts / mixture.groups < 2)) {
    return invalid_argument(
        "n_group", "must divide the experts, " + std::to_string(mixture.experts) +
                       ", into groups of at least 2, got " + std::to_string(mixture.groups));
  }
  if (mixture.chosen_groups > mixture.groups) {
    return invalid_argument("topk_group", "must be at most n_group, " +
                                              std::to_string(mixture.groups) + ", got " +
                                              std::to_string(mixture.chosen_groups));
  }
  const int eligible = mixture.experts / mixture.groups * mixture.chosen_groups;
  if (mixture.chosen <= eligible) return {};
  return invalid_argument(std::string(chosen_key),
                          "must be at most the number of experts to choose from, " +
                              std::to_string(eligible) + ", got " + std::to_string(mixture.chosen));
}

}  // namespace

Status read_mixture(const Json& config, const ModelFamily& family, ModelConfig& out) {
  MixtureConfig mixture;
  std::string_view chosen = "num_experts_per_tok";
  switch (family.mixture) {
    case MixtureRule::kNone: return {};
    case MixtureRule::kGemma4: {
      ASSIGN_OR_RETURN(const bool is_mixture, optional_bool(config, "enable_moe_block", false));
      if (!is_mixture) return {};
      RETURN_IF_ERROR(read_gemma4_mixture(config, out.layers, mixture));
      chosen = "top_k_experts";
      break;
    }
    case MixtureRule::kGlm: RETURN_IF_ERROR(read_glm(config, out, mixture)); break;
    case MixtureRule::kGptOss: RETURN_IF_ERROR(read_gpt_oss(config, out, mixture)); break;
    case MixtureRule::kGranite:
    case MixtureRule::kGraniteShared:
    case MixtureRule::kGranite4: RETURN_IF_ERROR(read_granite(config, family, out, mixture)); break;
    case MixtureRule::kMixtral: RETURN_IF_ERROR(read_mixtral(config, out, mixture)); break;
    case MixtureRule::kOlmoe: RETURN_IF_ERROR(read_olmoe(config, out, mixture)); break;
    case MixtureRule::kQwen: RETURN_IF_ERROR(read_qwen(config, out.layers, false, mixture)); break;
    case MixtureRule::kQwen2:
    case MixtureRule::kQwenNext:
    case MixtureRule::kQwen35:
      RETURN_IF_ERROR(read_qwen2(config, out.layers, family.mixture, mixture));
      break;
    case MixtureRule::kLfm2: RETURN_IF_ERROR(read_lfm2(config, out.layers, mixture)); break;
  }
  if (!mixture.layers.empty()) {
    ASSIGN_OR_RETURN(mixture.chosen, count(config, chosen, kExpertsMax));
    RETURN_IF_ERROR(check_groups(mixture, chosen));
  }
  out.mixture = std::move(mixture);
  return {};
}

}  // namespace cascade
