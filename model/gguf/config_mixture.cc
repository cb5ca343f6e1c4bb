// Routers differ by architecture. Keys that ask for another router than ours are refused, since
// answers would be wrong without a word.
#include "model/gguf/config_mixture.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace cascade {
namespace {

// At least the limit of parse_model_config.
constexpr int64_t kLayersMax = 4096;
// Any number that a JSON number may be; parse_model_config has the limits.
constexpr int64_t kAnyNumber = INT64_MAX;

// The values of expert_gating_func.
constexpr int64_t kSoftmax = 1, kSigmoid = 2, kSoftmaxOfChosen = 3;

// A key of which an architecture knows a few values. Files may leave it out.
struct FixedKey {
  std::string_view name;
  std::array<int64_t, 2> values;
};
// For a router that takes the softmax, and nothing more: no groups, no dense layers before it. 0
// stands for a feature that is not there.
constexpr std::array<FixedKey, 4> kPlainRouter = {{
    {"expert_group_count", {0, 1}},
    {"expert_shared_count", {0, 0}},
    {"leading_dense_block_count", {0, 0}},
    {"interleave_moe_layer_step", {0, 1}},
}};
constexpr std::array<FixedKey, 2> kNoGroups = {{
    {"expert_group_count", {0, 1}},
    {"expert_shared_count", {0, 0}},
}};
// The channels of an expert that all tokens use.
constexpr std::string_view kSharedSize = "expert_shared_feed_forward_length";
constexpr std::array<FixedKey, 1> kNoShared = {{{kSharedSize, {0, 0}}}};

class MixtureReader {
 public:
  MixtureReader(const GgufFiles& files, const std::string& architecture, Json& config)
      : files_(files), metadata_(files.metadata()), architecture_(architecture), config_(config) {}

  Status run() {
    constexpr std::array<std::string_view, 9> kAlways = {"glm4moe",  "gpt-oss",   "granitemoe",
                                                         "lfm2moe",  "olmoe",     "qwen2moe",
                                                         "qwen3moe", "qwen35moe", "qwen3next"};
    const bool must_be = std::ranges::count(kAlways, architecture_) != 0;
    ASSIGN_OR_RETURN(const auto experts,
                     metadata_.whole(key("expert_count"), INT64_MIN, kAnyNumber));
    if (!must_be && experts.value_or(0) == 0) return {};
    if (architecture_ == "gemma4") return read_gemma4();
    if (!must_be && architecture_ != "llama" && architecture_ != "granitehybrid") {
      return unsupported(key("expert_count"), "must be 0 in architecture " + architecture_);
    }
    RETURN_IF_ERROR(copy("expert_count", "num_local_experts", true));
    RETURN_IF_ERROR(copy("expert_used_count", "num_experts_per_tok", true));
    if (architecture_ == "glm4moe") return read_glm();
    if (architecture_ == "gpt-oss") return read_gpt_oss();
    if (architecture_ == "granitemoe") return read_granite();
    if (architecture_ == "granitehybrid") return read_granite_hybrid();
    if (architecture_ == "lfm2moe") return read_lfm2();
    if (architecture_ == "qwen3next" || architecture_ == "qwen35moe") return read_qwen_hybrid();
    if (architecture_ == "qwen2moe") return read_qwen2();
    RETURN_IF_ERROR(check_plain_router(kSoftmax));
    RETURN_IF_ERROR(check_fixed(kNoShared));
    if (architecture_ == "olmoe") return read_normalisation();
    RETURN_IF_ERROR(check_normalised());
    if (architecture_ == "qwen3moe") return read_qwen();
    config_["model_type"] = "mixtral";
    return {};
  }

 private:
  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }

  Status copy(std::string_view name, std::string_view config_key, bool required) {
    ASSIGN_OR_RETURN(const auto value, metadata_.whole(key(name), INT64_MIN, kAnyNumber));
    if (value) {
      config_[std::string(config_key)] = *value;
    } else if (required) {
      return not_found(key(name), "is missing");
    }
    return {};
  }

  Status check_gating(int64_t function, std::string_view name) const {
    ASSIGN_OR_RETURN(const auto value, metadata_.whole(key("expert_gating_func"), 0, kAnyNumber));
    if (value.value_or(function) == function) return {};
    return unsupported(key("expert_gating_func"), "must be " + std::to_string(function) + " (" +
                                                      std::string(name) + ") in architecture " +
                                                      architecture_ + ", got " +
                                                      std::to_string(*value));
  }

  Status check_fixed(std::span<const FixedKey> keys) const {
    for (const auto& [name, values] : keys) {
      ASSIGN_OR_RETURN(const auto value, metadata_.whole(key(name), INT64_MIN, kAnyNumber));
      if (std::ranges::count(values, value.value_or(0)) != 0) continue;
      return unsupported(key(name), "must be " + std::to_string(values.back()) +
                                        " in architecture " + architecture_ + ", got " +
                                        std::to_string(*value));
    }
    return {};
  }

  // The router does not scale its weights.
  Status check_plain_router(int64_t function) const {
    RETURN_IF_ERROR(check_gating(
        function, function == kSoftmax ? "softmax" : "softmax of those that are chosen"));
    RETURN_IF_ERROR(check_fixed(kPlainRouter));
    ASSIGN_OR_RETURN(const auto scale, metadata_.number(key("expert_weights_scale")));
    if (scale.value_or(1) != 1 && *scale != 0) {
      return unsupported(key("expert_weights_scale"), "must be 1 in architecture " + architecture_);
    }
    return {};
  }
  Status check_normalised() const {
    ASSIGN_OR_RETURN(const bool is_normalised, metadata_.flag_or(key("expert_weights_norm"), true));
    if (is_normalised) return {};
    return unsupported(key("expert_weights_norm"), "must be true in architecture " + architecture_);
  }
  // Weights are not normalised in these architectures, unless the file says so.
  Status read_normalisation() {
    ASSIGN_OR_RETURN(config_["norm_topk_prob"],
                     metadata_.flag_or(key("expert_weights_norm"), false));
    return {};
  }

  // Sizes that old files leave out follow from that of a dense layer.
  Status read_qwen2() {
    RETURN_IF_ERROR(check_plain_router(kSoftmax));
    RETURN_IF_ERROR(read_normalisation());
    const auto dense = config_["intermediate_size"].get<int64_t>();
    config_["shared_expert_intermediate_size"] = dense;
    if (metadata_.contains(key("expert_feed_forward_length"))) {
      RETURN_IF_ERROR(copy("expert_feed_forward_length", "moe_intermediate_size", true));
    } else {
      const auto used = config_["num_experts_per_tok"].get<int64_t>();
      if (used < 1 || dense % used != 0) {
        return not_found(key("expert_feed_forward_length"),
                         "is missing, and expert_used_count, " + std::to_string(used) +
                             ", does not divide feed_forward_length, " + std::to_string(dense));
      }
      config_["moe_intermediate_size"] = dense / used;
    }
    RETURN_IF_ERROR(copy(kSharedSize, "shared_expert_intermediate_size", false));
    read_dense_layers();
    return {};
  }

  Status read_granite() {
    RETURN_IF_ERROR(check_plain_router(kSoftmax));
    RETURN_IF_ERROR(check_normalised());
    RETURN_IF_ERROR(copy(kSharedSize, "shared_intermediate_size", false));
    if (config_.contains("shared_intermediate_size")) config_["model_type"] = "granitemoeshared";
    return {};
  }

  Status read_granite_hybrid() {
    RETURN_IF_ERROR(check_plain_router(kSoftmax));
    RETURN_IF_ERROR(check_normalised());
    return copy(kSharedSize, "shared_intermediate_size", true);
  }

  // All layers of qwen35moe are mixtures.
  Status read_qwen_hybrid() {
    RETURN_IF_ERROR(check_plain_router(kSoftmax));
    RETURN_IF_ERROR(check_normalised());
    RETURN_IF_ERROR(copy(kSharedSize, "shared_expert_intermediate_size", true));
    return read_qwen();
  }

  Status read_lfm2() {
    RETURN_IF_ERROR(check_gating(kSigmoid, "sigmoid"));
    RETURN_IF_ERROR(check_fixed(kNoGroups));
    RETURN_IF_ERROR(check_fixed(kNoShared));
    RETURN_IF_ERROR(copy("expert_feed_forward_length", "moe_intermediate_size", true));
    config_["num_dense_layers"] = 0;
    RETURN_IF_ERROR(copy("leading_dense_block_count", "num_dense_layers", false));
    ASSIGN_OR_RETURN(config_["norm_topk_prob"],
                     metadata_.flag_or(key("expert_weights_norm"), true));
    ASSIGN_OR_RETURN(const auto scale, metadata_.number(key("expert_weights_scale")));
    if (scale.value_or(0) != 0) config_["routed_scaling_factor"] = *scale;
    return {};
  }

  Status read_qwen() {
    RETURN_IF_ERROR(copy("expert_feed_forward_length", "moe_intermediate_size", true));
    config_["norm_topk_prob"] = true;  // files do not say it
    read_dense_layers();
    return {};
  }

  // Layers without a router are dense.
  void read_dense_layers() {
    Json dense = Json::array();
    const auto layers = std::min<int64_t>(config_["num_hidden_layers"].get<int64_t>(), kLayersMax);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const std::string router = "blk." + std::to_string(layer) + ".ffn_gate_inp.weight";
      if (files_.find(router).tensor == nullptr) dense.push_back(layer);
    }
    config_["mlp_only_layers"] = std::move(dense);
  }

  Status read_gemma4() {
    config_["enable_moe_block"] = true;
    RETURN_IF_ERROR(copy("expert_count", "num_local_experts", true));
    RETURN_IF_ERROR(copy("expert_used_count", "top_k_experts", true));
    RETURN_IF_ERROR(copy("expert_feed_forward_length", "moe_intermediate_size", true));
    RETURN_IF_ERROR(check_plain_router(kSoftmax));
    RETURN_IF_ERROR(check_fixed(kNoShared));
    return check_normalised();
  }

  Status read_gpt_oss() {
    RETURN_IF_ERROR(check_plain_router(kSoftmaxOfChosen));
    RETURN_IF_ERROR(check_fixed(kNoShared));
    RETURN_IF_ERROR(check_normalised());
    return copy("expert_feed_forward_length", "intermediate_size", true);
  }

  Status read_glm() {
    RETURN_IF_ERROR(copy("expert_feed_forward_length", "moe_intermediate_size", true));
    RETURN_IF_ERROR(copy("expert_shared_count", "n_shared_experts", false));
    RETURN_IF_ERROR(copy("leading_dense_block_count", "first_k_dense_replace", false));
    RETURN_IF_ERROR(copy("expert_group_count", "n_group", false));
    RETURN_IF_ERROR(copy("expert_group_used_count", "topk_group", false));
    RETURN_IF_ERROR(copy("nextn_predict_layers", "num_nextn_predict_layers", false));
    ASSIGN_OR_RETURN(const auto scale, metadata_.number(key("expert_weights_scale")));
    if (scale) config_["routed_scaling_factor"] = *scale;
    ASSIGN_OR_RETURN(config_["norm_topk_prob"],
                     metadata_.flag_or(key("expert_weights_norm"), false));
    RETURN_IF_ERROR(check_gating(kSigmoid, "sigmoid"));
    config_["use_qk_norm"] = files_.find("blk.0.attn_q_norm.weight").tensor != nullptr;
    config_["attention_bias"] = files_.find("blk.0.attn_q.bias").tensor != nullptr;
    // block_count counts the layers that only predict further tokens.
    const int64_t drafts = config_.value("num_nextn_predict_layers", int64_t{0});
    const auto layers = config_["num_hidden_layers"].get<int64_t>();
    if (drafts < 0 || drafts >= layers) {
      return invalid_argument(
          key("nextn_predict_layers"),
          "must be from 0 to the number of layers minus 1, got " + std::to_string(drafts));
    }
    config_["num_hidden_layers"] = layers - drafts;
    config_["num_nextn_predict_layers"] = drafts;
    return {};
  }

  const GgufFiles& files_;
  const GgufMetadata& metadata_;
  const std::string& architecture_;
  Json& config_;
};

}  // namespace

Status read_gguf_mixture(const GgufFiles& files, const std::string& architecture, Json& config) {
  return MixtureReader(files, architecture, config).run();
}

}  // namespace cascade
