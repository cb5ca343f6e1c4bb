// The changes that llama.cpp's converter makes to the tensors of each family.
#include "tests/model/gguf/convert_hybrid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace cascade::testing {
namespace {

// Copies `count` rows of `width` values from one place to the end of `to`.
void append_rows(const PlainTensor& from, int row, int count, PlainTensor& to) {
  const auto width = static_cast<ptrdiff_t>(from.values.size()) / from.shape[0];
  const auto begin = from.values.begin() + row * width;
  to.values.insert(to.values.end(), begin, begin + count * width);
  to.shape[0] += count;
}

PlainTensor without_rows(const PlainTensor& like) {
  PlainTensor empty = {like.shape, {}};
  empty.shape[0] = 0;
  return empty;
}

PlainTensor with_sides_swapped(const PlainTensor& tensor) {
  const auto rows = static_cast<size_t>(tensor.shape[0]);
  const auto columns = static_cast<size_t>(tensor.shape[1]);
  PlainTensor result = {{tensor.shape[1], tensor.shape[0]}, {}};
  for (size_t column = 0; column < columns; ++column) {
    for (size_t row = 0; row < rows; ++row) {
      result.values.push_back(tensor.values[row * columns + column]);
    }
  }
  return result;
}

// From rows key head by key head to the rows of all queries, keys and values, and those of gates.
std::pair<PlainTensor, PlainTensor> inputs_and_gates(const PlainTensor& all,
                                                     const RecurrentConfig& config) {
  PlainTensor inputs = without_rows(all), gates = without_rows(all);
  const int dim = config.key_dim, values = config.value_channels() / config.key_heads;
  struct Run {
    int offset, count;
  };
  const std::array<Run, 4> runs = {
      {{0, dim}, {dim, dim}, {2 * dim, values}, {2 * dim + values, values}}};
  for (const Run& run : runs) {
    for (int head = 0; head < config.key_heads; ++head) {
      append_rows(all, head * 2 * (dim + values) + run.offset, run.count,
                  &run == &runs.back() ? gates : inputs);
    }
  }
  return {inputs, gates};
}

// The rows from `first` on belong to value heads, `dim` to each. They get the order in which the
// heads of a key head are not neighbours.
PlainTensor in_tiles(const PlainTensor& grouped, const RecurrentConfig& config, int first,
                     int dim) {
  PlainTensor result = without_rows(grouped);
  append_rows(grouped, 0, first, result);
  const int served = config.value_heads / config.key_heads;
  for (int i = 0; i < served; ++i) {
    for (int head = 0; head < config.key_heads; ++head) {
      append_rows(grouped, first + (head * served + i) * dim, dim, result);
    }
  }
  return result;
}

PlainTensor with_tiled_heads(const std::string& name, const PlainTensor& tensor,
                             const RecurrentConfig& config) {
  const auto is = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (is(".in_proj_qkv.") || is(".conv1d.")) {
    return in_tiles(tensor, config, 2 * config.key_channels(), config.value_dim);
  }
  if (is(".in_proj_z.")) return in_tiles(tensor, config, 0, config.value_dim);
  if (is(".out_proj.")) {
    return with_sides_swapped(in_tiles(with_sides_swapped(tensor), config, 0, config.value_dim));
  }
  if (is(".linear_attn.norm.")) return tensor;
  return in_tiles(tensor, config, 0, 1);
}

// Changes the values and the shape of a tensor.
void convert_values(const std::string& name, const ModelConfig& config, PlainTensor& tensor) {
  const RecurrentConfig& recurrent = config.recurrent;
  const bool is_log = name.ends_with(".A_log");
  if (is_log) {
    for (float& x : tensor.values) x = -static_cast<float>(std::exp(double{x}));
  }
  if (tensor.shape.size() == 3 && tensor.shape[1] == 1 && name.find("conv") != std::string::npos) {
    tensor.shape.erase(tensor.shape.begin() + 1);
  }
  if (recurrent.kind == Recurrence::kMamba) {
    if (is_log || name.ends_with(".D")) tensor.shape.push_back(1);
    if (name.ends_with("mamba.norm.weight")) {
      tensor.shape = {recurrent.key_heads, recurrent.value_channels() / recurrent.key_heads};
    }
  }
  if (config.norms_add_one && name.ends_with("norm.weight") &&
      !name.ends_with("linear_attn.norm.weight")) {
    for (float& x : tensor.values) x += 1;
  }
}

}  // namespace

PlainTensors as_hybrid_file(const ModelConfig& config, const PlainTensors& tensors) {
  const RecurrentConfig& recurrent = config.recurrent;
  if (recurrent.layers.empty()) return tensors;
  const bool is_tiled = config.model_type.starts_with("qwen3_5");
  const bool is_dense = config.mixture.experts == 0;
  PlainTensors converted;
  for (const auto& [name, original] : tensors) {
    constexpr std::string_view kTogether = "in_proj_qkvz.weight", kShared = "shared_mlp.";
    PlainTensor tensor = original;
    convert_values(name, config, tensor);
    std::string other = name;
    if (name.ends_with(kTogether)) {
      const auto [inputs, gates] = inputs_and_gates(tensor, recurrent);
      other.resize(other.size() - kTogether.size());
      converted.emplace(other + "in_proj_qkv.weight", inputs);
      converted.emplace(other + "in_proj_z.weight", gates);
      continue;
    }
    if (is_tiled && name.find(".linear_attn.") != std::string::npos) {
      tensor = with_tiled_heads(name, tensor, recurrent);
    }
    const size_t shared = name.find(kShared);
    if (is_dense && shared != std::string::npos) other.replace(shared, kShared.size(), "mlp.");
    converted.emplace(other, std::move(tensor));
  }
  return converted;
}

bool is_plain_in_hybrids(const std::string& name) {
  return std::ranges::any_of(
      std::array{"conv1d.weight", "conv.conv.weight", "norm.weight", ".A_log", ".D"},
      [&](const char* end) { return name.ends_with(end); });
}

}  // namespace cascade::testing
