// Matrices are described here; weights_packing.h fills them.
#include "model/packing_plan.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <ranges>
#include <set>

#include "base/check.h"
#include "base/checked.h"
#include "kernels/record_format.h"
#include "model/gguf/dequantize.h"

namespace cascade {
namespace {

// Tensors that old files carry beside the weights, and that follow from the configuration.
bool is_derived(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq");
}

// The number of the layer that a tensor belongs to; -1 if its name has none.
int layer_of(std::string_view name) {
  name.remove_prefix(kLayersPrefix.size());
  int layer = -1;
  std::from_chars(name.data(), name.data() + name.size(), layer);
  return layer;
}

// Whether the tensor belongs to a layer that only predicts further tokens.
bool is_of_draft(std::string_view name, const ModelConfig& config) {
  const int layer = layer_of(name);
  return layer >= config.layers && layer - config.layers < config.draft_layers;
}

// Whether the tensor would make K and V in a layer that uses those of an earlier one. Published
// checkpoints have such tensors, and transformers ignores them.
bool is_of_shared_kv(std::string_view name, const ModelConfig& config) {
  const int layer = layer_of(name);
  if (layer < 0 || layer >= config.layers || config.attention_shape(layer).writes_kv ||
      config.recurrent.is_recurrent(layer)) {
    return false;
  }
  return std::ranges::any_of(std::array{".self_attn.k_", ".self_attn.v_"}, [&](const char* part) {
    return name.find(part) != std::string_view::npos;
  });
}

// The values of a vector, in the order of the matrix's rows.
Result<std::vector<float>> read_values(const std::string& name, const Tensor& tensor) {
  int64_t size = 1;
  for (const int64_t dimension : tensor.shape) size *= dimension;
  std::vector<float> values(static_cast<size_t>(size));
  read_elements(tensor, 0, values.size(), values.data());
  if (!all_finite(values)) return not_finite(name);
  if (tensor.interleaved_head_rows == 0) return values;
  std::vector<float> ordered(values.size());
  for (size_t i = 0; i < values.size(); ++i) ordered[i] = values[tensor.file_row(i)];
  return ordered;
}

}  // namespace

Result<std::vector<float>> PackingPlan::values(const std::string& name,
                                               std::vector<int64_t> shape) {
  ASSIGN_OR_RETURN(const Tensor tensor, find(name, std::move(shape)));
  return read_values(name, tensor);
}

Result<std::vector<float>> PackingPlan::norm(const std::string& name, int64_t size) {
  ASSIGN_OR_RETURN(std::vector<float> factors, vector(name, size));
  if (config_.norms_add_one) {
    for (float& factor : factors) factor += 1.0f;
  }
  return factors;
}

Status PackingPlan::matrix(const std::string& name, int64_t n, int64_t k, PackedMatrix& packed,
                           bool is_head) {
  RETURN_IF_ERROR(find(name, {n, k}));
  packed = describe(int(n), int(k), std::span(used_).last(1), is_head);
  jobs_.push_back({used_.size() - 1, 0, &packed});
  return {};
}

Status PackingPlan::stacked(const std::vector<Part>& parts, int k, StackedMatrix& stack) {
  int n = 0;
  for (const Part& part : parts) {
    RETURN_IF_ERROR(find_part(part, k));
    stack.offset.push_back(n);
    n += round_up(part.n, kPanelChannels);
  }
  // Parts that follow each other in one matrix. A job points to its matrix, which must not move.
  const size_t first_used = used_.size() - parts.size();
  stack.matrices.reserve(parts.size());
  for (size_t begin = 0; begin < parts.size();) {
    const size_t end = end_of_matrix(std::span(used_).subspan(first_used), begin);
    const int channel = stack.offset[begin];
    const int channels = (end < parts.size() ? stack.offset[end] : n) - channel;
    stack.matrices.push_back(
        describe(channels, k, std::span(used_).subspan(first_used + begin, end - begin)));
    for (; begin < end; ++begin) {
      jobs_.push_back({first_used + begin, stack.offset[begin] - channel, &stack.matrices.back()});
    }
  }
  return read_biases(parts, stack);
}

Result<std::vector<float>> PackingPlan::read_bias(const Part& part) {
  ASSIGN_OR_RETURN(Tensor tensor, find(part.bias, {part.n}, part.slice));
  if (part.interleaved > 0) tensor.interleaved_head_rows = part.interleaved;
  tensor.interleaved_run = part.interleaved_run;
  return read_values(part.bias, tensor);
}

Status PackingPlan::read_biases(const std::vector<Part>& parts, StackedMatrix& stack) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.bias.empty()) continue;
    ASSIGN_OR_RETURN(const std::vector<float> bias, read_bias(part));
    stack.bias.resize(size_t(stack.n_padded()));
    std::copy(bias.begin(), bias.end(), stack.bias.begin() + stack.offset[i]);
  }
  return {};
}

Status PackingPlan::fused(const std::string& name, const std::vector<int>& n, int k,
                          StackedMatrix& stack) {
  int rows = 0;
  for (const int part : n) {
    stack.offset.push_back(rows);
    rows += part;
  }
  return matrix(name, rows, k, stack.matrices.emplace_back());
}

Status PackingPlan::exact(const std::vector<Part>& parts, int k, StackedMatrix& stack) {
  stack.matrices.reserve(parts.size());  // a job points to its matrix
  for (const Part& part : parts) {
    RETURN_IF_ERROR(find_part(part, k));
    const WeightType type =
        used_.back().tensor.type == TensorType::kBf16 ? WeightType::kBf16 : WeightType::kF32;
    stack.offset.push_back(stack.n_padded());
    stack.matrices.push_back(describe_matrix(type, kernels_.matrix_layout_of(type), part.n, k));
    exact_.push_back(used_.size() - 1);
    jobs_.push_back({used_.size() - 1, 0, &stack.matrices.back()});
  }
  return read_biases(parts, stack);
}

TensorType PackingPlan::type_in_file(std::string_view name) const {
  const auto found = std::ranges::find(std::views::reverse(used_), name, &NamedTensor::name);
  CHECK(found != used_.rend());
  return found->tensor.type;
}

Status PackingPlan::check_all_layers_used() const {
  std::set<std::string_view> used;
  for (const auto& [name, tensor] : used_) used.insert(name);
  for (const std::string& name : files_.names(kLayersPrefix)) {
    if (used.contains(name) || is_derived(name) || is_of_draft(name, config_) ||
        is_of_shared_kv(name, config_)) {
      continue;
    }
    return unsupported(name, "is in the model's files, but a decoder of model_type \"" +
                                 config_.model_type + "\" and " + std::to_string(config_.layers) +
                                 " layers, as its configuration has it, does not use it");
  }
  return {};
}

size_t PackingPlan::packed_bytes() const {
  size_t bytes = 0;
  for (const PackJob& job : jobs_) {
    if (job.channel_offset == 0) bytes += job.matrix->bytes();
  }
  return bytes;
}

void PackingPlan::place(uint8_t* memory) {
  for (const PackJob& job : jobs_) {
    if (job.channel_offset > 0) continue;
    job.matrix->data = memory;
    memory += job.matrix->bytes();
  }
}

PackedFileId PackingPlan::file_id(const Digest& digest) const {
  Hasher key;
  key.field("packing", uint64_t{kPackingVersion}).field("weights", digest);
  key.field("type", to_string(types_.type));
  for (const PackJob& job : jobs_) {
    const PackedMatrix& matrix = *job.matrix;
    key.field("matrix type", to_string(matrix.type));
    key.field("layout", static_cast<uint64_t>(matrix.layout));
    key.field("n", uint64_t(matrix.n)).field("k", uint64_t(matrix.k));
    key.field("offset", uint64_t(job.channel_offset)).field("bytes", matrix.bytes());
    if (matrix.block_scales) key.field("scales", "of blocks");
  }
  return {key.finish(), digest, packed_bytes()};
}

std::vector<WeightType> PackingPlan::types() const {
  std::map<WeightType, size_t> bytes;
  for (const PackJob& job : jobs_) {
    if (job.channel_offset > 0 || is_exact(job)) continue;
    bytes[job.matrix->type] += job.matrix->bytes();
  }
  std::vector<WeightType> types;
  for (const auto& [type, count] : bytes) types.push_back(type);
  std::ranges::stable_sort(types, std::greater(), [&](WeightType type) { return bytes[type]; });
  return types;
}

std::string PackingPlan::record_types() const {
  std::string types;
  bool some = false;
  for (const PackJob& job : jobs_) {
    types += std::string(to_string(job.matrix->type)) + " ";
    some |= has_records(job.matrix->type);
  }
  return some ? types : "";
}

bool PackingPlan::has_block_scales() const {
  return std::ranges::any_of(jobs_, [](const PackJob& job) { return job.matrix->block_scales; });
}

int64_t PackingPlan::tensor_bytes() const {
  int64_t bytes = 0;
  for (const NamedTensor& named : used_) bytes += static_cast<int64_t>(named.tensor.bytes.size());
  return bytes;
}

bool PackingPlan::all_keep(std::span<const NamedTensor> tensors, WeightType type) {
  return std::ranges::all_of(
      tensors, [&](const NamedTensor& named) { return keeps_blocks(named.tensor.type, type); });
}

// The type with records that a tensor becomes; it does not depend on the tensors that are
// multiplied together with it. As in files: the one that holds its blocks. Else: the one that was
// asked for, but instead of K-quants q6k for the LM head and V, whose errors cost most, if they are
// rounded.
std::optional<WeightType> PackingPlan::own_type_for(const NamedTensor& named, bool is_head) const {
  const TensorType in_file = named.tensor.type;
  if (types_.by_matrix) {
    return keeps_blocks(in_file, WeightType::kMxfp4) ? WeightType::kMxfp4 : k_quant_of(in_file);
  }
  if (types_.type == WeightType::kMxfp4) return types_.type;
  if (!is_k_quant(types_.type)) return std::nullopt;
  const bool is_finer = is_head || named.name.ends_with(".v_proj.weight");
  return is_finer && !keeps_blocks(in_file, types_.type) ? WeightType::kQ6K : types_.type;
}

// The end of the parts, from `begin` on, that form one matrix. Without records these are all
// parts. Else they are the parts that follow each other, have the same type, and all keep their
// blocks or all do not.
size_t PackingPlan::end_of_matrix(std::span<const NamedTensor> parts, size_t begin) const {
  const auto own_type = [&](const NamedTensor& part) { return own_type_for(part, false); };
  const auto kind_of = [&](size_t i) {
    const WeightType type = own_type(parts[i]).value_or(type_for(parts.subspan(i, 1)));
    return std::pair(type, keeps_blocks(parts[i].tensor.type, type));
  };
  const bool some = std::ranges::any_of(
      parts, [&](const NamedTensor& part) { return own_type(part).has_value(); });
  if (!some) return parts.size();
  size_t end = begin + 1;
  while (end < parts.size() && kind_of(end) == kind_of(begin)) ++end;
  return end;
}

// The type of a matrix made of these tensors, which do not become a type with records.
WeightType PackingPlan::type_for(std::span<const NamedTensor> tensors) const {
  if (types_.by_matrix && (types_.type == WeightType::kInt4 || has_records(types_.type))) {
    return all_keep(tensors, WeightType::kInt4) ? WeightType::kInt4 : WeightType::kInt8;
  }
  return types_.type;
}

// Describes a matrix made of these tensors. It takes over their blocks if its type can hold the
// blocks of all of them.
PackedMatrix PackingPlan::describe(int n, int k, std::span<const NamedTensor> tensors,
                                   bool is_head) const {
  const WeightType type = own_type_for(tensors.front(), is_head).value_or(type_for(tensors));
  const bool block_scales = !has_records(type) && all_keep(tensors, type);
  return describe_matrix(type, kernels_.matrix_layout_of(type), n, k, block_scales);
}

bool PackingPlan::is_exact(const PackJob& job) const {
  return std::ranges::binary_search(exact_, job.tensor);
}

// Finds a tensor of this shape, or a slice that has it, and appends it to used_. Of a slice, only
// its own bytes count as used.
Result<Tensor> PackingPlan::find(const std::string& name, std::vector<int64_t> shape,
                                 TensorSlice slice, bool is_bytes) {
  const auto in_files = [&](std::span<const int64_t> of_shape) {
    return is_bytes ? files_.find_bytes(name, of_shape) : files_.find(name, of_shape);
  };
  if (slice.count == 0) {
    ASSIGN_OR_RETURN(Tensor tensor, in_files(shape));
    used_.push_back({name, tensor});
    return tensor;
  }
  std::vector<int64_t> whole = {slice.count};
  whole.insert(whole.end(), shape.begin(), shape.end());
  ASSIGN_OR_RETURN(Tensor tensor, in_files(whole));
  const size_t bytes = tensor.bytes.size() / size_t(slice.count);
  tensor.bytes = tensor.bytes.subspan(size_t(slice.index) * bytes, bytes);
  tensor.shape = std::move(shape);
  used_.push_back({name, tensor});
  return tensor;
}

// Finds the two tensors of a pair, the one with the blocks last.
Status PackingPlan::find_pair(const Part& part, int k) {
  const std::string blocks = part.weight + "_blocks", scales = part.weight + "_scales";
  if (k % kBlock != 0) {
    return unsupported(
        blocks, "must have whole blocks of 32 values for the " + std::to_string(k) + " inputs");
  }
  const int64_t count = k / kBlock;
  constexpr int64_t kBytesOfBlock = 16;
  RETURN_IF_ERROR(find(scales, {part.n, count}, part.slice, true));
  const std::span<const uint8_t> bytes_of_scales = used_.back().tensor.bytes;
  RETURN_IF_ERROR(find(blocks, {part.n, count, kBytesOfBlock}, part.slice, true));
  used_.back().tensor.type = TensorType::kMxfp4Apart;
  used_.back().tensor.scales = bytes_of_scales;
  return {};
}

Status PackingPlan::find_part(const Part& part, int k) {
  if (part.is_pair) {
    RETURN_IF_ERROR(find_pair(part, k));
  } else if (!part.transposed) {
    RETURN_IF_ERROR(find(part.weight, {part.n, k}, part.slice));
  } else {
    ASSIGN_OR_RETURN(const Tensor tensor, find(part.weight, {k, part.n}, part.slice));
    if (cascade::describe(tensor.type).block_values > 1) {
      return unsupported(part.weight, "is of type " + std::string(to_string(tensor.type)) +
                                          ", but its rows are input channels: it must be plain "
                                          "numbers");
    }
  }
  Tensor& tensor = used_.back().tensor;
  tensor.shape = {part.n, k};
  tensor.transposed = part.transposed;
  if (part.interleaved > 0) tensor.interleaved_head_rows = part.interleaved;
  tensor.interleaved_run = part.interleaved_run;
  return {};
}

}  // namespace cascade
