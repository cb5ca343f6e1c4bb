// Keys are those that llama.cpp's converter writes.
#include "model/gguf/config_gemma4.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cascade {
namespace {

constexpr std::string_view kPrefix = "gemma4.";
// At least the limit of parse_model_config.
constexpr int64_t kLayersEnd = 4096;
// The divisor of frequencies of pairs that do not rotate is at least this.
constexpr float kStill = 1e20f;

std::string gemma4_key(std::string_view name) {
  return std::string(kPrefix) + std::string(name);
}

class Gemma4Reader {
 public:
  Gemma4Reader(const GgufFiles& files, Json& config)
      : files_(files), metadata_(files.metadata()), config_(config) {}

  Status run() {
    layers_ = config_["num_hidden_layers"].get<int64_t>();
    if (layers_ < 1 || layers_ > kLayersEnd) return {};  // parse_model_config() refuses it
    RETURN_IF_ERROR(read_types());
    RETURN_IF_ERROR(read_heads());
    RETURN_IF_ERROR(read_ropes());
    RETURN_IF_ERROR(read_widths());
    return read_inputs();
  }

 private:
  Result<int64_t> required(std::string_view name) const {
    return metadata_.required_whole(gemma4_key(name), 0, INT32_MAX);
  }

  // A number for each layer; files may have one number for all.
  Result<std::vector<int64_t>> by_layer(std::string_view name) const {
    const std::string key = gemma4_key(name);
    const GgufValue* value = metadata_.find(key);
    if (value == nullptr || !std::holds_alternative<GgufArray>(*value)) {
      ASSIGN_OR_RETURN(const int64_t one, required(name));
      return std::vector<int64_t>(size_t(layers_), one);
    }
    ASSIGN_OR_RETURN(const std::vector<int32_t> values, metadata_.wholes(key));
    RETURN_IF_ERROR(check_count(key, values.size()));
    return std::vector<int64_t>(values.begin(), values.end());
  }

  Status check_count(const std::string& key, size_t count) const {
    if (count == size_t(layers_)) return {};
    return invalid_argument(key, "must have one element for each of the " +
                                     std::to_string(layers_) + " layers, got " +
                                     std::to_string(count));
  }

  Status read_types() {
    const std::string key = gemma4_key("attention.sliding_window_pattern");
    if (!metadata_.contains(key)) return not_found(key, "is missing");
    ASSIGN_OR_RETURN(slides_, metadata_.flags(key));
    RETURN_IF_ERROR(check_count(key, slides_.size()));
    if (slides_.back()) return unsupported(key, "must be false for the last layer");
    Json types = Json::array();
    for (const bool slides : slides_) {
      types.push_back(slides ? "sliding_attention" : "full_attention");
    }
    config_["layer_types"] = std::move(types);
    ASSIGN_OR_RETURN(config_["sliding_window"], required("attention.sliding_window"));
    ASSIGN_OR_RETURN(const auto shared,
                     metadata_.whole(gemma4_key("attention.shared_kv_layers"), 0, INT32_MAX));
    config_["num_kv_shared_layers"] = shared.value_or(0);
    return {};
  }

  // The size of a head, which must be that of V and of RoPE, too.
  Result<int64_t> head_size(const std::string& suffix) const {
    ASSIGN_OR_RETURN(const int64_t size, required("attention.key_length" + suffix));
    for (const std::string& same :
         {"attention.value_length" + suffix, "rope.dimension_count" + suffix}) {
      ASSIGN_OR_RETURN(const auto other, metadata_.whole(gemma4_key(same), 0, INT32_MAX));
      if (other.value_or(size) == size) continue;
      return unsupported(gemma4_key(same), "must be the size of a head, " + std::to_string(size) +
                                               ", got " + std::to_string(*other));
    }
    return size;
  }

  Status read_heads() {
    ASSIGN_OR_RETURN(const int64_t of_full, head_size(""));
    ASSIGN_OR_RETURN(const int64_t of_sliding, head_size("_swa"));
    ASSIGN_OR_RETURN(const std::vector<int64_t> kv_heads, by_layer("attention.head_count_kv"));
    config_["head_dim"] = of_sliding;
    config_["num_key_value_heads"] = kv_heads.front();
    Json shapes = Json::object();
    for (size_t layer = 0; layer < slides_.size(); ++layer) {
      shapes[std::to_string(layer)] = {{"head_dim", slides_[layer] ? of_sliding : of_full},
                                       {"num_key_value_heads", kv_heads[layer]}};
    }
    config_["per_layer_config"] = std::move(shapes);
    // Where a full layer has no projection of V, K is V.
    const auto full = std::ranges::find(slides_, false) - slides_.begin();
    const std::string values = "blk." + std::to_string(full) + ".attn_v.weight";
    config_["attention_k_eq_v"] = files_.find(values).tensor == nullptr;
    return {};
  }

  Status read_ropes() {
    Json full = {{"rope_type", "proportional"}}, sliding = {{"rope_type", "default"}};
    for (const auto& [name, rope] :
         {std::pair("rope.freq_base", &full), std::pair("rope.freq_base_swa", &sliding)}) {
      ASSIGN_OR_RETURN(const auto theta, metadata_.number(gemma4_key(name)));
      if (!theta) return not_found(gemma4_key(name), "is missing");
      (*rope)["rope_theta"] = *theta;
    }
    ASSIGN_OR_RETURN(full["partial_rotary_factor"], moving_share());
    config_["rope_parameters"] = {{"full_attention", std::move(full)},
                                  {"sliding_attention", std::move(sliding)}};
    return {};
  }

  // The share of pairs that rotate in full layers: the divisors of their frequencies are 1, and
  // those of the other pairs are huge.
  Result<double> moving_share() const {
    constexpr std::string_view kName = "rope_freqs.weight";
    const auto [tensor, bytes] = files_.find(kName);
    if (tensor == nullptr) return 1.0;
    std::vector<float> divisors(bytes.size() / sizeof(float));
    std::memcpy(divisors.data(), bytes.data(), divisors.size() * sizeof(float));
    const auto moving = std::ranges::find_if(divisors, [](float d) { return d != 1; });
    const bool is_proportional =
        tensor->type == TensorType::kF32 && moving != divisors.begin() &&
        std::all_of(moving, divisors.end(), [](float d) { return d >= kStill; });
    ASSIGN_OR_RETURN(const int64_t size, required("attention.key_length"));
    if (is_proportional && divisors.size() * 2 == size_t(size)) {
      return double(moving - divisors.begin()) / double(divisors.size());
    }
    return unsupported(std::string(kName),
                       "must have a value of type F32 for each two dimensions of a head of full "
                       "attention: 1 for those that rotate, and then at least 1e20");
  }

  // The widths of the MLPs. Layers that use K and V of others may have twice the width.
  Status read_widths() {
    constexpr std::string_view kName = "feed_forward_length";
    ASSIGN_OR_RETURN(const std::vector<int64_t> widths, by_layer(kName));
    const int64_t first = widths.front();
    const auto own =
        std::clamp<int64_t>(layers_ - config_["num_kv_shared_layers"].get<int64_t>(), 0, layers_);
    const bool is_wide = own < layers_ && widths.back() == 2 * first;
    for (int64_t layer = 0; layer < layers_; ++layer) {
      const int64_t expected = is_wide && layer >= own ? 2 * first : first;
      if (widths[size_t(layer)] == expected) continue;
      return unsupported(gemma4_key(kName),
                         "must be the same for all layers, or twice as large for the last " +
                             std::to_string(layers_ - own) + ", got " +
                             std::to_string(widths[size_t(layer)]) + " for layer " +
                             std::to_string(layer));
    }
    config_["intermediate_size"] = first;
    config_["use_double_wide_mlp"] = is_wide;
    return {};
  }

  Status read_inputs() {
    ASSIGN_OR_RETURN(const auto size,
                     metadata_.whole(gemma4_key("embedding_length_per_layer_input"), 0, INT32_MAX));
    config_["hidden_size_per_layer_input"] = size.value_or(0);
    const GgufTensor* table = files_.find("per_layer_token_embd.weight").tensor;
    if (table == nullptr || table->dimensions.size() != 2) return {};  // loading it says so
    config_["vocab_size_per_layer_input"] = table->dimensions[1];
    return {};
  }

  const GgufFiles& files_;
  const GgufMetadata& metadata_;
  Json& config_;
  int64_t layers_ = 0;
  std::vector<bool> slides_;  // [layers]
};

}  // namespace

Status read_gguf_gemma4(const GgufFiles& files, Json& config) {
  return Gemma4Reader(files, config).run();
}

}  // namespace cascade
