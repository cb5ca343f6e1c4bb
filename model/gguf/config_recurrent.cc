// Keys are those that llama.cpp's converter writes, and what is left out is as in llama.cpp.
#include "model/gguf/config_recurrent.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/config_recurrent.h"
#include "model/gguf/config_keys.h"

namespace cascade {
namespace {

// Above the limit of parse_model_config(), which refuses such files. It keeps lists of layers
// small.
constexpr int64_t kHybridLayersMax = 4096;
// Every fourth layer attends if a file of qwen3next or qwen35 does not say otherwise.
constexpr int64_t kIntervalDefault = 4;

constexpr std::string_view kKvHeads = "attention.head_count_kv";
constexpr std::string_view kInnerSize = "ssm.inner_size";
constexpr std::string_view kHeadCount = "ssm.time_step_rank";

bool is_qwen_hybrid(std::string_view architecture) {
  return architecture == "qwen3next" || architecture == "qwen35" || architecture == "qwen35moe";
}

class HybridReader {
 public:
  HybridReader(const GgufFiles& files, std::string_view architecture, Json& config)
      : files_(files), metadata_(files.metadata()), architecture_(architecture), config_(config) {}

  Status run() {
    blocks_ = config_["num_hidden_layers"].get<int64_t>();
    const auto hidden = config_["hidden_size"].get<int64_t>();
    // parse_model_config() refuses such numbers.
    if (blocks_ < 1 || blocks_ > kHybridLayersMax || hidden < 1) return {};
    recurs_.assign(static_cast<size_t>(blocks_), false);
    if (!config_.contains("rms_norm_eps")) return missing("attention.layer_norm_rms_epsilon");
    RETURN_IF_ERROR(read_sizes());
    RETURN_IF_ERROR(read_kv_heads());
    if (is_qwen_hybrid(architecture_)) {
      RETURN_IF_ERROR(read_drafts());
      RETURN_IF_ERROR(read_qwen_layers());
      RETURN_IF_ERROR(read_delta_net());
    } else {
      set_types();
      RETURN_IF_ERROR(architecture_ == "granitehybrid" ? read_mamba() : read_convolutions());
    }
    const std::string attending = layer_name(false);
    config_["attention_bias"] = has(attending + "attn_output.bias");
    return {};
  }

 private:
  std::string key(std::string_view name) const {
    return std::string(architecture_) + "." + std::string(name);
  }
  Error missing(std::string_view name) const { return not_found(key(name), "is missing"); }
  bool has(const std::string& tensor) const { return files_.find(tensor).tensor != nullptr; }

  // "blk.N." of the first layer that is recurrent, or that is not.
  std::string layer_name(bool recurrent) const {
    return "blk." + std::to_string(std::ranges::find(recurs_, recurrent) - recurs_.begin()) + ".";
  }

  Result<int64_t> required(std::string_view name) const {
    return metadata_.required_whole(key(name), 1, INT32_MAX);
  }
  Status copy(std::string_view config_key) {
    ASSIGN_OR_RETURN(config_[std::string(config_key)], required(gguf_config_key(config_key)));
    return {};
  }

  // Reads the sizes that all layers have.
  Status read_sizes() {
    constexpr std::string_view kInner = "feed_forward_length";
    ASSIGN_OR_RETURN(const auto inner, metadata_.whole(key(kInner), INT64_MIN, INT64_MAX));
    // No layer of qwen35moe has an MLP of this size.
    const bool may_lack = architecture_ == "qwen35moe";
    if (!inner && !may_lack) return missing(kInner);
    if (inner && (*inner != 0 || !may_lack)) config_["intermediate_size"] = *inner;
    ASSIGN_OR_RETURN(const auto dim,
                     metadata_.whole(key("attention.key_length"), INT64_MIN, INT64_MAX));
    const auto heads = config_["num_attention_heads"].get<int64_t>();
    if (dim) {
      config_["head_dim"] = *dim;
    } else if (is_qwen_hybrid(architecture_) && heads > 0) {
      config_["head_dim"] = config_["hidden_size"].get<int64_t>() / heads;
    }
    return {};
  }

  Status check_count(std::string_view name, size_t count) const {
    if (count == recurs_.size()) return {};
    return invalid_argument(key(name), "must have one element for each of the " +
                                           std::to_string(blocks_) + " layers, got " +
                                           std::to_string(count));
  }

  // Reads one number for all layers, or a list that has 0 for recurrent layers.
  Status read_kv_heads() {
    const char* const heads = "num_key_value_heads";
    const GgufValue* value = metadata_.find(key(kKvHeads));
    if (value == nullptr || !std::holds_alternative<GgufArray>(*value)) {
      ASSIGN_OR_RETURN(const auto one, metadata_.whole(key(kKvHeads), INT64_MIN, INT64_MAX));
      config_[heads] = one ? Json(*one) : config_["num_attention_heads"];
      return {};
    }
    ASSIGN_OR_RETURN(const std::vector<int32_t> list, metadata_.wholes(key(kKvHeads)));
    RETURN_IF_ERROR(check_count(kKvHeads, list.size()));
    const int32_t most = std::ranges::max(list);
    for (size_t layer = 0; layer < list.size(); ++layer) {
      recurs_[layer] = list[layer] == 0;
      if (recurs_[layer] || list[layer] == most) continue;
      return unsupported(key(kKvHeads), "must be 0 or the same number for all layers");
    }
    if (most == 0) {
      return unsupported(key(kKvHeads), "must have at least one layer that attends");
    }
    config_[heads] = most;
    return {};
  }

  // block_count counts the layers that only predict further tokens.
  Status read_drafts() {
    constexpr std::string_view kDrafts = "nextn_predict_layers";
    if (architecture_ == "qwen3next") return {};
    ASSIGN_OR_RETURN(const auto drafts, metadata_.whole(key(kDrafts), 0, blocks_ - 1));
    config_["num_hidden_layers"] = blocks_ - drafts.value_or(0);
    return {};
  }

  // A list says which layers are recurrent. Without it, all but every n-th layer are.
  Status read_qwen_layers() {
    constexpr std::string_view kList = "attention.recurrent_layers";
    constexpr std::string_view kInterval = "full_attention_interval";
    const auto layers = config_["num_hidden_layers"].get<size_t>();
    const bool has_list = metadata_.contains(key(kList));
    if (has_list) {
      ASSIGN_OR_RETURN(std::vector<bool> list, metadata_.flags(key(kList)));
      RETURN_IF_ERROR(check_count(kList, list.size()));
      recurs_ = std::move(list);
    } else {
      ASSIGN_OR_RETURN(const auto interval, metadata_.whole(key(kInterval), 1, INT32_MAX));
      const auto period = static_cast<size_t>(interval.value_or(kIntervalDefault));
      for (size_t layer = 0; layer < layers; ++layer) recurs_[layer] = (layer + 1) % period != 0;
    }
    recurs_.resize(layers);
    if (std::ranges::count(recurs_, false) == 0) {
      return unsupported(key(has_list ? kList : kInterval),
                         "must have at least one layer that attends");
    }
    set_types();
    return {};
  }

  void set_types() {
    const char* recurrent = "linear_attention";
    if (architecture_ == "lfm2" || architecture_ == "lfm2moe") recurrent = "conv";
    Json types = Json::array();
    for (const bool recurs : recurs_) types.push_back(recurs ? recurrent : "full_attention");
    config_["layer_types"] = std::move(types);
  }

  // The channels of a value head.
  Result<int64_t> value_dim(int64_t heads) const {
    ASSIGN_OR_RETURN(const int64_t inner, required(kInnerSize));
    if (heads > inner) {
      return invalid_argument(key(kHeadCount), "must be at most " + std::string(kInnerSize) + " (" +
                                                   std::to_string(inner) + "), got " +
                                                   std::to_string(heads));
    }
    const int64_t dim = inner / heads;
    if (inner % heads == 0 && (dim % kScanDimStep != 0 || dim > kScanDimMax)) {
      return invalid_argument(key(kInnerSize), "divided by " + std::string(kHeadCount) +
                                                   " must be a multiple of 8, at most 512, got " +
                                                   std::to_string(dim));
    }
    if (inner % heads == 0) return dim;
    return invalid_argument(key(kInnerSize), "must be a multiple of " + std::string(kHeadCount) +
                                                 " (" + std::to_string(heads) + "), got " +
                                                 std::to_string(inner));
  }

  Status check_groups(const char* groups, const char* heads) const {
    const auto count = config_[groups].get<int64_t>(), all = config_[heads].get<int64_t>();
    if (all % count == 0) return {};
    return invalid_argument(key("ssm.group_count"), "must divide " + std::string(kHeadCount) +
                                                        " (" + std::to_string(all) + "), got " +
                                                        std::to_string(count));
  }

  Status read_delta_net() {
    for (const char* name : {"linear_conv_kernel_dim", "linear_key_head_dim",
                             "linear_num_key_heads", "linear_num_value_heads"}) {
      RETURN_IF_ERROR(copy(name));
    }
    RETURN_IF_ERROR(check_groups("linear_num_key_heads", "linear_num_value_heads"));
    ASSIGN_OR_RETURN(config_["linear_value_head_dim"],
                     value_dim(config_["linear_num_value_heads"].get<int64_t>()));
    return {};
  }

  Status read_mamba() {
    for (const char* name : {"mamba_d_conv", "mamba_d_state", "mamba_n_groups", "mamba_n_heads"}) {
      RETURN_IF_ERROR(copy(name));
    }
    RETURN_IF_ERROR(check_groups("mamba_n_groups", "mamba_n_heads"));
    const auto heads = config_["mamba_n_heads"].get<int64_t>();
    ASSIGN_OR_RETURN(config_["mamba_d_head"], value_dim(heads));
    const int64_t inner = heads * config_["mamba_d_head"].get<int64_t>();
    const auto hidden = config_["hidden_size"].get<int64_t>();
    if (inner % hidden != 0) {
      return invalid_argument(key(kInnerSize), "must be a multiple of embedding_length (" +
                                                   std::to_string(hidden) + "), got " +
                                                   std::to_string(inner));
    }
    if (inner / hidden > kExpandMax) {
      return invalid_argument(
          key(kInnerSize),
          "divided by embedding_length must be at most 64, got " + std::to_string(inner / hidden));
    }
    config_["mamba_expand"] = inner / hidden;
    const std::string recurrent = layer_name(true);
    config_["mamba_conv_bias"] = has(recurrent + "ssm_conv1d.bias");
    config_["mamba_proj_bias"] = has(recurrent + "ssm_in.bias");
    config_["position_embedding_type"] = "rope";  // config.cc sees whether it is switched off
    // The MLP of a model without experts. A mixture's reader replaces both.
    config_["num_local_experts"] = 0;
    ASSIGN_OR_RETURN(const auto shared, metadata_.whole(key("expert_shared_feed_forward_length"),
                                                        INT64_MIN, INT64_MAX));
    config_["shared_intermediate_size"] =
        shared ? *shared : config_["intermediate_size"].get<int64_t>();
    return {};
  }

  Status read_convolutions() {
    RETURN_IF_ERROR(copy("conv_L_cache"));
    config_["block_auto_adjust_ff_dim"] = false;  // files have the width as it is
    config_["conv_bias"] = has(layer_name(true) + "shortconv.conv.bias");
    return {};
  }

  const GgufFiles& files_;
  const GgufMetadata& metadata_;
  const std::string_view architecture_;
  Json& config_;
  int64_t blocks_ = 0;
  std::vector<bool> recurs_;  // [layers]
};

}  // namespace

bool is_gguf_hybrid(std::string_view architecture) {
  return is_qwen_hybrid(architecture) || architecture == "granitehybrid" ||
         architecture == "lfm2" || architecture == "lfm2moe";
}

Status read_gguf_hybrid(const GgufFiles& files, std::string_view architecture, Json& config) {
  return HybridReader(files, architecture, config).run();
}

void set_gguf_hybrid(std::string_view architecture, ModelConfig& config) {
  if (config.recurrent.kind == Recurrence::kConvolution) return;
  config.recurrent.has_rates = true;
  config.recurrent.tiled_heads = architecture == "qwen35" || architecture == "qwen35moe";
}

}  // namespace cascade
