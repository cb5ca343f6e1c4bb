// Tensors of a Hugging Face checkpoint -> packed matrices.
#include "model/weights.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "model/gguf/dequantize.h"
#include "model/weights_packing.h"

namespace cascade {
namespace {

constexpr std::string_view kEmbedding = "model.embed_tokens.weight";
constexpr std::string_view kLayersPrefix = "model.layers.";

// Tensors that old files carry beside the weights, and that follow from the configuration.
bool is_derived(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq");
}

// Decides which tensors of `files` are read, and which of them go to which matrix.
class Loader {
 public:
  Loader(const TensorFiles& files, const ModelConfig& config, const WeightPlan& plan,
         const Kernels& kernels)
      : files_(files), config_(config), plan_(plan), kernels_(kernels) {}

  Result<std::vector<float>> vector(const std::string& name, int64_t size) {
    ASSIGN_OR_RETURN(const Tensor tensor, find(name, {size}));
    std::vector<float> values(size);
    read_elements(tensor, 0, values.size(), values.data());
    if (!all_finite(values)) return not_finite(name);
    if (tensor.interleaved_head_rows == 0) return values;
    std::vector<float> ordered(values.size());
    for (size_t i = 0; i < values.size(); ++i) ordered[i] = values[tensor.file_row(i)];
    return ordered;
  }

  // A norm's factors.
  Result<std::vector<float>> norm(const std::string& name, int64_t size) {
    ASSIGN_OR_RETURN(std::vector<float> factors, vector(name, size));
    if (config_.norms_add_one) {
      for (float& factor : factors) factor += 1.0f;
    }
    return factors;
  }

  Status matrix(const std::string& name, int64_t n, int64_t k, PackedMatrix& packed,
                bool is_head = false) {
    RETURN_IF_ERROR(find(name, {n, k}));
    packed = describe(int(n), int(k), std::span(used_).last(1), is_head);
    jobs_.push_back({used_.size() - 1, 0, &packed});
    return {};
  }

  struct Part {
    std::string name;  // without ".weight"
    int n;
  };

  Status stacked(const std::vector<Part>& parts, int k, bool with_bias, StackedMatrix& stack) {
    int n = 0;
    for (const Part& part : parts) {
      RETURN_IF_ERROR(find(part.name + ".weight", {part.n, k}));
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
        jobs_.push_back(
            {first_used + begin, stack.offset[begin] - channel, &stack.matrices.back()});
      }
    }
    if (!with_bias) return {};
    stack.bias.assign(n, 0.0f);
    for (size_t i = 0; i < parts.size(); ++i) {
      ASSIGN_OR_RETURN(const std::vector<float> bias, vector(parts[i].name + ".bias", parts[i].n));
      std::copy(bias.begin(), bias.end(), stack.bias.begin() + stack.offset[i]);
    }
    return {};
  }

  // A matrix that is one tensor in the files; its parts have n[i] rows.
  Status fused(const std::string& name, const std::vector<int>& n, int k, StackedMatrix& stack) {
    int rows = 0;
    for (const int part : n) {
      stack.offset.push_back(rows);
      rows += part;
    }
    return matrix(name, rows, k, stack.matrices.emplace_back());
  }

  Status norms(const std::string& prefix, LayerWeights& w) {
    const int hidden = config_.hidden_size;
    // Models without output norms name the MLP's input norm after the attention before it.
    const std::string mlp_input = config_.output_norms ? "pre_feedforward_layernorm.weight"
                                                       : "post_attention_layernorm.weight";
    if (config_.input_norms) {
      ASSIGN_OR_RETURN(w.attention_norm, norm(prefix + "input_layernorm.weight", hidden));
      ASSIGN_OR_RETURN(w.mlp_norm, norm(prefix + mlp_input, hidden));
    }
    if (config_.output_norms) {
      ASSIGN_OR_RETURN(w.attention_output_norm,
                       norm(prefix + "post_attention_layernorm.weight", hidden));
      ASSIGN_OR_RETURN(w.mlp_output_norm,
                       norm(prefix + "post_feedforward_layernorm.weight", hidden));
    }
    if (config_.qk_norm == QkNorm::kNone) return {};
    const bool is_whole = config_.qk_norm == QkNorm::kWhole;
    const int q_size = is_whole ? config_.query_heads * config_.head_dim : config_.head_dim;
    const int k_size = is_whole ? config_.kv_heads * config_.head_dim : config_.head_dim;
    ASSIGN_OR_RETURN(w.query_norm, norm(prefix + "self_attn.q_norm.weight", q_size));
    ASSIGN_OR_RETURN(w.key_norm, norm(prefix + "self_attn.k_norm.weight", k_size));
    return {};
  }

  Status layer(int index, LayerWeights& w) {
    const std::string prefix = std::string(kLayersPrefix) + std::to_string(index) + ".";
    const int hidden = config_.hidden_size;
    const int q_size = config_.query_heads * config_.head_dim;
    const int kv_size = config_.kv_heads * config_.head_dim;
    RETURN_IF_ERROR(norms(prefix, w));
    const std::string attention = prefix + "self_attn.";
    const std::string mlp = prefix + "mlp.";
    const int inner = config_.intermediate_size;
    if (config_.fused_projections) {
      RETURN_IF_ERROR(
          fused(attention + "qkv_proj.weight", {q_size, kv_size, kv_size}, hidden, w.qkv));
    } else {
      RETURN_IF_ERROR(stacked({{attention + "q_proj", q_size},
                               {attention + "k_proj", kv_size},
                               {attention + "v_proj", kv_size}},
                              hidden, config_.qkv_bias, w.qkv));
    }
    RETURN_IF_ERROR(
        stacked({{attention + "o_proj", hidden}}, q_size, config_.output_bias, w.output));
    if (config_.fused_projections) {
      RETURN_IF_ERROR(fused(mlp + "gate_up_proj.weight", {inner, inner}, hidden, w.gate_up));
    } else {
      RETURN_IF_ERROR(stacked({{mlp + "gate_proj", inner}, {mlp + "up_proj", inner}}, hidden,
                              config_.mlp_bias, w.gate_up));
    }
    return stacked({{mlp + "down_proj", hidden}}, inner, config_.mlp_bias, w.down);
  }

  // Rounded as in the program of the model's authors: to the type in which that program has the
  // weights.
  float embedding_multiplier() const {
    const float multiplier = config_.embedding_multiplier;
    if (!config_.rounds_embedding_multiplier) return multiplier;
    const auto embedding = std::ranges::find(used_, kEmbedding, &NamedTensor::name);
    const TensorType type = embedding->tensor.type;
    if (type == TensorType::kBf16) return bf16_to_f32(f32_to_bf16(multiplier));
    if (type == TensorType::kF16) return f16_to_f32(f32_to_f16(multiplier));
    return multiplier;
  }

  // The bytes of all matrices.
  size_t packed_bytes() const {
    size_t bytes = 0;
    for (const PackJob& job : jobs_) {
      if (job.channel_offset == 0) bytes += job.matrix->bytes();
    }
    return bytes;
  }

  // Gives every matrix its place in packed_bytes() bytes.
  void place(uint8_t* memory) {
    for (const PackJob& job : jobs_) {
      if (job.channel_offset > 0) continue;
      job.matrix->data = memory;
      memory += job.matrix->bytes();
    }
  }

  PackedFileId file_id(const Digest& digest) const {
    Hasher key;
    key.field("packing", uint64_t{kPackingVersion}).field("weights", digest);
    key.field("type", to_string(plan_.type));
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

  // The types of the matrices, that of most bytes first.
  std::vector<WeightType> types() const {
    std::map<WeightType, size_t> bytes;
    for (const PackJob& job : jobs_) {
      if (job.channel_offset == 0) bytes[job.matrix->type] += job.matrix->bytes();
    }
    std::vector<WeightType> types;
    for (const auto& [type, count] : bytes) types.push_back(type);
    std::ranges::stable_sort(types, std::greater(), [&](WeightType type) { return bytes[type]; });
    return types;
  }

  // The types of the matrices, in order, if some are K-quants.
  std::string k_quant_types() const {
    std::string types;
    bool some = false;
    for (const PackJob& job : jobs_) {
      types += std::string(to_string(job.matrix->type)) + " ";
      some |= is_k_quant(job.matrix->type);
    }
    return some ? types : "";
  }

  // Whether some matrix has the scales of its file's blocks.
  bool has_block_scales() const {
    return std::ranges::any_of(jobs_, [](const PackJob& job) { return job.matrix->block_scales; });
  }

  SourceState source_state() const {
    SourceState source;
    std::error_code ignored;
    Hasher state;
    for (const auto& [name, tensor] : used_) {
      state.field("name", name).field("type", to_string(tensor.type));
      for (const int64_t dimension : tensor.shape) state.field("dim", uint64_t(dimension));
      if (tensor.interleaved_head_rows > 0) {
        state.field("interleaved rows", uint64_t(tensor.interleaved_head_rows));
      }
    }
    for (const auto& [path, identity] : files_.sources()) {
      state.field("path", std::filesystem::weakly_canonical(path, ignored).native());
      state.field("inode", identity.inode).field("size", identity.bytes);
      state.field("modified", uint64_t(identity.modified_ns));
      state.field("changed", uint64_t(identity.changed_ns));
      source.changed_ns = std::max({source.changed_ns, identity.modified_ns, identity.changed_ns});
    }
    source.state = state.finish();
    const auto folder = std::filesystem::weakly_canonical(files_.place(), ignored);
    source.place = Hasher().field("folder", folder.native()).finish();
    source.folder = utf8_replace_malformed(folder.native());
    return source;
  }

  std::span<const NamedTensor> tensors() const { return used_; }
  // The bytes that the tensors take in their files.
  int64_t tensor_bytes() const {
    int64_t bytes = 0;
    for (const NamedTensor& named : used_) bytes += static_cast<int64_t>(named.tensor.bytes.size());
    return bytes;
  }
  std::span<const PackJob> jobs() const { return jobs_; }

  // Refuses tensors of the decoder's layers that were not asked for: a model with such tensors
  // computes something that the configuration does not say.
  Status check_all_layers_used() const {
    std::set<std::string_view> used;
    for (const auto& [name, tensor] : used_) used.insert(name);
    for (const std::string& name : files_.names(kLayersPrefix)) {
      if (used.contains(name) || is_derived(name)) continue;
      return unsupported(name, "is in the model's files, but a decoder of model_type \"" +
                                   config_.model_type + "\" and " + std::to_string(config_.layers) +
                                   " layers, as its configuration has it, does not use it");
    }
    return {};
  }

 private:
  static bool all_keep(std::span<const NamedTensor> tensors, WeightType type) {
    return std::ranges::all_of(
        tensors, [&](const NamedTensor& named) { return keeps_blocks(named.tensor.type, type); });
  }

  // The K-quant that a tensor becomes; it does not depend on the tensors that are multiplied
  // together with it. As in files: the one that holds its blocks. Else: the one that was asked for,
  // but q6k for the LM head and V, whose errors cost most, if they are rounded.
  std::optional<WeightType> k_quant_for(const NamedTensor& named, bool is_head) const {
    const TensorType in_file = named.tensor.type;
    if (plan_.by_matrix) return k_quant_of(in_file);
    if (!is_k_quant(plan_.type)) return std::nullopt;
    const bool is_finer = is_head || named.name.ends_with(".v_proj.weight");
    return is_finer && !keeps_blocks(in_file, plan_.type) ? WeightType::kQ6K : plan_.type;
  }

  // The end of the parts, from `begin` on, that form one matrix. Without K-quants these are all
  // parts. Else they are the parts that follow each other, have the same type, and all keep their
  // blocks or all do not.
  size_t end_of_matrix(std::span<const NamedTensor> parts, size_t begin) const {
    const auto k_quant = [&](const NamedTensor& part) { return k_quant_for(part, false); };
    const auto kind_of = [&](size_t i) {
      const WeightType type = k_quant(parts[i]).value_or(type_for(parts.subspan(i, 1)));
      return std::pair(type, keeps_blocks(parts[i].tensor.type, type));
    };
    const bool some = std::ranges::any_of(
        parts, [&](const NamedTensor& part) { return k_quant(part).has_value(); });
    if (!some) return parts.size();
    size_t end = begin + 1;
    while (end < parts.size() && kind_of(end) == kind_of(begin)) ++end;
    return end;
  }

  // The type of a matrix made of these tensors, which do not become K-quants.
  WeightType type_for(std::span<const NamedTensor> tensors) const {
    if (plan_.by_matrix && (plan_.type == WeightType::kInt4 || is_k_quant(plan_.type))) {
      return all_keep(tensors, WeightType::kInt4) ? WeightType::kInt4 : WeightType::kInt8;
    }
    return plan_.type;
  }

  // Describes a matrix made of these tensors. It takes over their blocks if its type can hold the
  // blocks of all of them.
  PackedMatrix describe(int n, int k, std::span<const NamedTensor> tensors,
                        bool is_head = false) const {
    const WeightType type = k_quant_for(tensors.front(), is_head).value_or(type_for(tensors));
    const bool block_scales = !is_k_quant(type) && all_keep(tensors, type);
    return describe_matrix(type, kernels_.matrix_layout_of(type), n, k, block_scales);
  }

  // Finds a tensor and appends it to used_.
  Result<Tensor> find(const std::string& name, std::vector<int64_t> shape) {
    ASSIGN_OR_RETURN(Tensor tensor, files_.find(name, shape));
    used_.push_back({name, tensor});
    return tensor;
  }

  const TensorFiles& files_;
  const ModelConfig& config_;
  const WeightPlan plan_;
  const Kernels& kernels_;
  std::vector<NamedTensor> used_;
  std::vector<PackJob> jobs_;
};

// Every tensor is found before memory is taken, so that a configuration cannot ask for more than
// its files hold.
Status find_all(Loader& loader, const ModelConfig& config, Weights& weights) {
  RETURN_IF_ERROR(loader.matrix(std::string(kEmbedding), config.vocab_size, config.hidden_size,
                                weights.embedding, config.tied_embeddings));
  weights.embedding_multiplier = loader.embedding_multiplier();
  if (!config.tied_embeddings) {
    RETURN_IF_ERROR(
        loader.matrix("lm_head.weight", config.vocab_size, config.hidden_size, weights.head, true));
  }
  ASSIGN_OR_RETURN(weights.final_norm, loader.norm("model.norm.weight", config.hidden_size));
  for (int layer = 0; layer < config.layers; ++layer) {
    RETURN_IF_ERROR(loader.layer(layer, weights.layers.emplace_back()));
  }
  weights.block_scales = loader.has_block_scales();
  weights.types = loader.types();
  weights.k_quant_types = loader.k_quant_types();
  return loader.check_all_layers_used();
}

// The digest from a stamp; without one, the digest computed from the tensors if the cache may hold
// their packed weights. Otherwise nullopt: the digest is computed while the tensors are packed.
std::optional<Digest> early_digest(const Loader& loader, const SourceState& source,
                                   ThreadPool& pool, PackedCache& cache, LoadReport& report,
                                   LoadProgress& progress) {
  if (const auto known = cache.known_digest(source)) return known;
  if (!cache.may_hold(loader.packed_bytes())) return std::nullopt;
  report.hashed = true;
  const auto packed_bytes = static_cast<int64_t>(loader.packed_bytes());
  progress.expect(loader.tensor_bytes() + packed_bytes);
  const Digest digest = digest_tensors(loader.tensors(), pool, &progress);
  progress.expect(-packed_bytes);  // whoever reads the packed weights expects these bytes again
  return digest;
}

// Gives out the weights' own memory.
class MemorySink : public PackedSink {
 public:
  explicit MemorySink(uint8_t* memory) : memory_(memory) {}
  uint8_t* window(uint64_t begin, uint64_t) override { return memory_ + begin; }
  void drain() override {}

 private:
  uint8_t* memory_;
};

// Packs the tensors, into a file of the cache where that works, else into memory.
Status pack_all(const TensorFiles& files, Loader& loader, const SourceState& source,
                std::optional<Digest> digest, ThreadPool& pool, PackedCache& cache,
                Weights& weights, LoadReport& report, LoadProgress& progress) {
  const size_t bytes = loader.packed_bytes();
  TensorDigest computed(loader.tensors());
  const auto pack = [&](PackedSink& sink) -> Status {
    progress.expect(loader.tensor_bytes());
    RETURN_IF_ERROR(pack_tensors(loader.tensors(), loader.jobs(), digest ? nullptr : &computed,
                                 sink, pool, &progress));
    report.hashed |= !digest;
    if (!digest) digest = computed.finish();
    weights.digest = *digest;
    return {};
  };
  if (const auto writer = cache.start_writing(bytes)) {
    RETURN_IF_ERROR(pack(*writer));
    std::optional<PackedMemory> mapped;
    if (files.unchanged()) {
      cache.clean_up(source, weights.digest);
      mapped = cache.finish_writing(*writer, loader.file_id(weights.digest), pool);
    }
    if (mapped) {
      weights.memory = std::move(*mapped);
      loader.place(weights.memory.data());
      return {};
    }
  }
  ASSIGN_OR_RETURN(weights.memory, PackedMemory::allocate(bytes));
  loader.place(weights.memory.data());
  MemorySink memory(weights.memory.data());
  return pack(memory);
}

}  // namespace

int StackedMatrix::n_padded() const {
  int n = 0;
  for (const PackedMatrix& matrix : matrices) n += matrix.n_padded;
  return n;
}

bool StackedMatrix::quantized() const {
  return std::ranges::any_of(matrices, &PackedMatrix::quantized);
}

bool StackedMatrix::has_k_quants() const {
  return std::ranges::any_of(matrices,
                             [](const PackedMatrix& matrix) { return is_k_quant(matrix.type); });
}

Result<Weights> load_weights(const TensorFiles& files, const ModelConfig& config,
                             const WeightPlan& plan, const Kernels& kernels, ThreadPool& pool,
                             PackedCache& cache, LoadReport& report, LoadProgress* progress) {
  LoadProgress unseen;
  LoadProgress& seen = progress == nullptr ? unseen : *progress;
  Loader loader(files, config, plan, kernels);
  Weights weights;
  RETURN_IF_ERROR(find_all(loader, config, weights));
  const SourceState source = loader.source_state();
  const std::optional<Digest> digest = early_digest(loader, source, pool, cache, report, seen);
  if (digest) {
    weights.digest = *digest;
    if (auto mapped = cache.load(loader.file_id(*digest), pool, &seen)) {
      report.from_cache = true;
      weights.memory = std::move(*mapped);
      loader.place(weights.memory.data());
    }
  }
  if (!report.from_cache) {
    RETURN_IF_ERROR(pack_all(files, loader, source, digest, pool, cache, weights, report, seen));
  }
  if (!files.unchanged()) {
    report.warnings.push_back(source.folder +
                              ": its weights were changed while they were read; start again");
  } else if (report.hashed) {
    cache.remember_digest(source, weights.digest);
  }
  report.warnings.insert(report.warnings.end(), cache.warnings().begin(), cache.warnings().end());
  return weights;
}

Result<PackedWeights> describe_weights(const TensorFiles& files, const ModelConfig& config,
                                       const WeightPlan& plan, const Kernels& kernels) {
  Loader loader(files, config, plan, kernels);
  Weights weights;
  RETURN_IF_ERROR(find_all(loader, config, weights));
  return PackedWeights{loader.packed_bytes(), loader.types()};
}

}  // namespace cascade
