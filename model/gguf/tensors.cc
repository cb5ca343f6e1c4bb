// Names of tensors in GGUF files and in checkpoints, and the order of rows.
#include "model/gguf/tensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cascade {
namespace {

struct NamePair {
  std::string_view gguf;
  std::string_view checkpoint;
};

constexpr std::array<NamePair, 3> kModelNames = {{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
}};
constexpr std::array<NamePair, 11> kLayerNames = {{
    {"attn_norm", "input_layernorm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
}};
constexpr std::string_view kGgufLayers = "blk.";
constexpr std::string_view kCheckpointLayers = "model.layers.";
// Frequencies, which follow from the configuration (model/gguf/config.cc checks that they do).
constexpr std::string_view kRopeFrequencies = "rope_freqs.weight";

// "3" and what is behind the dot after it.
struct LayerName {
  std::string_view number;
  std::string_view rest;
};
std::optional<LayerName> layer_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view number = name.substr(0, dot);
  int layer = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + dot, layer);
  const bool is_plain = error == std::errc() && end == number.data() + dot && layer >= 0 &&
                        number == std::to_string(layer);
  if (!is_plain) return std::nullopt;
  return LayerName{number, name.substr(dot + 1)};
}

// The name on the other side of the table, with the same ".weight" or ".bias".
template <size_t kCount>
std::optional<std::string> translated(std::string_view name,
                                      const std::array<NamePair, kCount>& table,
                                      std::string_view NamePair::*from,
                                      std::string_view NamePair::*to) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view kind = name.substr(dot);
  if (kind != ".weight" && kind != ".bias") return std::nullopt;
  const auto found = std::ranges::find(table, name.substr(0, dot), from);
  if (found == table.end()) return std::nullopt;
  return std::string((*found).*to) + std::string(kind);
}

std::optional<std::string> translated(std::string_view name, std::string_view NamePair::*from,
                                      std::string_view NamePair::*to, std::string_view from_layers,
                                      std::string_view to_layers) {
  if (const auto layer = layer_name(name, from_layers)) {
    const auto rest = translated(layer->rest, kLayerNames, from, to);
    if (!rest) return std::nullopt;
    return std::string(to_layers) + std::string(layer->number) + "." + *rest;
  }
  return translated(name, kModelNames, from, to);
}

// The rows of a head of tensor `name` if those are interleaved, else 0.
Result<int> interleaved_rows(const GgufFiles& files, const GgufTensor& tensor) {
  const bool is_query = tensor.name.find(".attn_q.") != std::string::npos;
  const bool is_key = tensor.name.find(".attn_k.") != std::string::npos;
  if (!is_query && !is_key) return 0;
  const GgufMetadata& metadata = files.metadata();
  ASSIGN_OR_RETURN(const std::string architecture, metadata.required_text("general.architecture"));
  if (architecture != "llama") return 0;
  constexpr int64_t kHeadsMax = 65'536;  // any bound: config.cc has the model's
  ASSIGN_OR_RETURN(int64_t heads,
                   metadata.required_whole("llama.attention.head_count", 1, kHeadsMax));
  if (is_key) {
    ASSIGN_OR_RETURN(const auto kv_heads,
                     metadata.whole("llama.attention.head_count_kv", 1, kHeadsMax));
    heads = kv_heads.value_or(heads);
  }
  const auto rows = static_cast<int64_t>(tensor.dimensions.back());
  if (rows % (2 * heads) != 0 || rows / heads > INT32_MAX) {
    return invalid_argument(tensor.name, "has " + std::to_string(rows) + " rows, which " +
                                             std::to_string(heads) + " heads cannot share");
  }
  return static_cast<int>(rows / heads);
}

}  // namespace

std::optional<std::string> checkpoint_tensor_name(std::string_view gguf_name) {
  return translated(gguf_name, &NamePair::gguf, &NamePair::checkpoint, kGgufLayers,
                    kCheckpointLayers);
}

std::optional<std::string> gguf_tensor_name(std::string_view checkpoint_name) {
  return translated(checkpoint_name, &NamePair::checkpoint, &NamePair::gguf, kCheckpointLayers,
                    kGgufLayers);
}

Result<TensorFiles> gguf_tensors(GgufFiles files) {
  std::vector<TensorFiles::Source> sources;
  std::vector<TensorFiles::Located> tensors;
  for (const GgufFiles::Part& part : files.parts()) {
    for (const GgufTensor& tensor : part.header.tensors) {
      if (tensor.name == kRopeFrequencies) continue;
      const std::optional<std::string> name = checkpoint_tensor_name(tensor.name);
      if (!name) {
        return unsupported(tensor.name, "is a tensor that the supported architectures do not have");
      }
      TensorEntry entry;
      entry.name = *name;
      entry.type_name = to_string(tensor.type);
      entry.shape.assign(tensor.dimensions.rbegin(), tensor.dimensions.rend());
      entry.begin = tensor.begin;
      entry.end = tensor.end;
      ASSIGN_OR_RETURN(entry.interleaved_head_rows, interleaved_rows(files, tensor));
      tensors.push_back({std::move(entry), sources.size(), 0});
    }
    sources.push_back({part.path, part.file.identity()});
  }
  const std::filesystem::path place = files.path();
  return TensorFiles(place, std::move(files).release_files(), std::move(sources),
                     std::move(tensors));
}

}  // namespace cascade
