// Tensors of a Hugging Face checkpoint -> packed matrices.
#include "model/weights.h"

#include <cstring>
#include <set>

namespace cascade {
namespace {

constexpr std::string_view kLayersPrefix = "model.layers.";

// Tensors that old files carry beside the weights, and that follow from the configuration.
bool is_derived(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq");
}

// Elements [first, first + count) of a tensor as f32.
void read_elements(const Tensor& tensor, size_t first, size_t count, float* out) {
  const uint8_t* from = tensor.bytes.data() + first * tensor_type_bytes(tensor.type);
  if (tensor.type == TensorType::kF32) {
    std::memcpy(out, from, count * sizeof(float));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + 2 * i, sizeof bits);
    out[i] = tensor.type == TensorType::kBf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
  }
}

// A tensor [n, k] on its way to the rows `channel_offset`... of a matrix.
struct PackJob {
  Tensor tensor;
  int channel_offset;
  PackedMatrix* matrix;
};

void pack(const PackJob& job, ThreadPool& pool) {
  const auto& [tensor, channel_offset, matrix_pointer] = job;
  PackedMatrix& matrix = *matrix_pointer;
  const int n = static_cast<int>(tensor.shape[0]);
  const int tasks = (n + kPanelChannels - 1) / kPanelChannels;  // a panel is one thread's
  pool.run(tasks, [&](int task, int) {
    std::vector<float> row(matrix.k);
    const int end = std::min(n, (task + 1) * kPanelChannels);
    for (int channel = task * kPanelChannels; channel < end; ++channel) {
      read_elements(tensor, size_t(channel) * matrix.k, matrix.k, row.data());
      set_row(matrix, channel_offset + channel, row.data());
    }
  });
}

class Loader {
 public:
  Loader(const TensorFiles& files, const ModelConfig& config, WeightType type,
         const Kernels& kernels, ThreadPool& pool)
      : files_(files), config_(config), type_(type), kernels_(kernels), pool_(pool) {}

  Result<std::vector<float>> vector(const std::string& name, int64_t size) {
    ASSIGN_OR_RETURN(const Tensor tensor, find(name, {size}));
    std::vector<float> values(size);
    read_elements(tensor, 0, values.size(), values.data());
    return values;
  }

  Status matrix(const std::string& name, int64_t n, int64_t k, PackedMatrix& packed) {
    ASSIGN_OR_RETURN(const Tensor tensor, find(name, {n, k}));
    packed = describe_matrix(type_, kernels_.matrix_layout_of(type_), int(n), int(k));
    jobs_.push_back({tensor, 0, &packed});
    return {};
  }

  struct Part {
    std::string name;  // without ".weight"
    int n;
  };

  Status stacked(const std::vector<Part>& parts, int k, bool with_bias, StackedMatrix& stack) {
    int n = 0;
    for (const Part& part : parts) {
      ASSIGN_OR_RETURN(Tensor tensor, find(part.name + ".weight", {part.n, k}));
      jobs_.push_back({std::move(tensor), n, &stack.matrix});
      stack.offset.push_back(n);
      n += round_up(part.n, kPanelChannels);
    }
    stack.matrix = describe_matrix(type_, kernels_.matrix_layout_of(type_), n, k);
    if (!with_bias) return {};
    stack.bias.assign(n, 0.0f);
    for (size_t i = 0; i < parts.size(); ++i) {
      ASSIGN_OR_RETURN(const std::vector<float> bias, vector(parts[i].name + ".bias", parts[i].n));
      std::copy(bias.begin(), bias.end(), stack.bias.begin() + stack.offset[i]);
    }
    return {};
  }

  Status layer(int index, LayerWeights& w) {
    const std::string prefix = std::string(kLayersPrefix) + std::to_string(index) + ".";
    const int hidden = config_.hidden_size;
    const int q_size = config_.query_heads * config_.head_dim;
    const int kv_size = config_.kv_heads * config_.head_dim;
    ASSIGN_OR_RETURN(w.attention_norm, vector(prefix + "input_layernorm.weight", hidden));
    ASSIGN_OR_RETURN(w.mlp_norm, vector(prefix + "post_attention_layernorm.weight", hidden));
    const std::string attention = prefix + "self_attn.";
    if (config_.qk_norm) {
      ASSIGN_OR_RETURN(w.query_norm, vector(attention + "q_norm.weight", config_.head_dim));
      ASSIGN_OR_RETURN(w.key_norm, vector(attention + "k_norm.weight", config_.head_dim));
    }
    RETURN_IF_ERROR(stacked({{attention + "q_proj", q_size},
                             {attention + "k_proj", kv_size},
                             {attention + "v_proj", kv_size}},
                            hidden, config_.qkv_bias, w.qkv));
    RETURN_IF_ERROR(
        stacked({{attention + "o_proj", hidden}}, q_size, config_.output_bias, w.output));
    const std::string mlp = prefix + "mlp.";
    RETURN_IF_ERROR(stacked({{mlp + "gate_proj", config_.intermediate_size},
                             {mlp + "up_proj", config_.intermediate_size}},
                            hidden, config_.mlp_bias, w.gate_up));
    return stacked({{mlp + "down_proj", hidden}}, config_.intermediate_size, config_.mlp_bias,
                   w.down);
  }

  // Gives every matrix its memory and fills it.
  Result<PackedMemory> pack_all() {
    size_t bytes = 0;
    for (const PackJob& job : jobs_) {
      if (job.channel_offset == 0) bytes += job.matrix->bytes();
    }
    ASSIGN_OR_RETURN(PackedMemory memory, PackedMemory::allocate(bytes));
    uint8_t* next = memory.data();
    for (const PackJob& job : jobs_) {
      if (job.channel_offset > 0) continue;
      job.matrix->data = next;
      next += job.matrix->bytes();
    }
    for (const PackJob& job : jobs_) pack(job, pool_);
    return memory;
  }

  // Tensors of the decoder's layers that were not asked for: the model computes something that the
  // configuration does not say.
  Status check_all_layers_used() const {
    std::set<std::string_view> used;
    for (const auto& [name, tensor] : used_) used.insert(name);
    for (const std::string& name : files_.names(kLayersPrefix)) {
      if (used.contains(name) || is_derived(name)) continue;
      return unsupported(name, "is in the model's files, but a decoder of model_type \"" +
                                   config_.model_type + "\" and " + std::to_string(config_.layers) +
                                   " layers, as config.json has it, does not use it");
    }
    return {};
  }

  // Over every tensor that was asked for: large ones in pieces, so that all threads hash.
  Digest digest() {
    struct Piece {
      size_t tensor;
      std::span<const uint8_t> bytes;
    };
    constexpr size_t kPieceBytes = size_t{8} << 20;
    std::vector<Piece> pieces;
    for (size_t i = 0; i < used_.size(); ++i) {
      for (auto rest = used_[i].second.bytes; !rest.empty();) {
        const size_t size = std::min(rest.size(), kPieceBytes);
        pieces.push_back({i, rest.first(size)});
        rest = rest.subspan(size);
      }
    }
    std::vector<Digest> digests(pieces.size());
    pool_.run(static_cast<int>(pieces.size()), [&](int task, int) {
      digests[task] = Hasher().field("bytes", pieces[task].bytes).finish();
    });
    Hasher all;
    for (const auto& [name, tensor] : used_) {
      all.field("name", name).field("type", to_string(tensor.type));
      for (const int64_t dimension : tensor.shape) all.field("dim", uint64_t(dimension));
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
      all.field("tensor", uint64_t{pieces[i].tensor}).field("piece", digests[i]);
    }
    return all.finish();
  }

 private:
  Result<Tensor> find(const std::string& name, std::vector<int64_t> shape) {
    ASSIGN_OR_RETURN(Tensor tensor, files_.find(name, shape));
    used_.emplace_back(name, tensor);
    return tensor;
  }

  const TensorFiles& files_;
  const ModelConfig& config_;
  WeightType type_;
  const Kernels& kernels_;
  ThreadPool& pool_;
  std::vector<std::pair<std::string, Tensor>> used_;
  std::vector<PackJob> jobs_;
};

}  // namespace

Result<Weights> load_weights(const TensorFiles& files, const ModelConfig& config, WeightType type,
                             const Kernels& kernels, ThreadPool& pool) {
  // Every tensor is found before memory is taken: a configuration cannot ask for more than its
  // files hold.
  Loader loader(files, config, type, kernels, pool);
  Weights weights;
  RETURN_IF_ERROR(loader.matrix("model.embed_tokens.weight", config.vocab_size, config.hidden_size,
                                weights.embedding));
  if (!config.tied_embeddings) {
    RETURN_IF_ERROR(
        loader.matrix("lm_head.weight", config.vocab_size, config.hidden_size, weights.head));
  }
  ASSIGN_OR_RETURN(weights.final_norm, loader.vector("model.norm.weight", config.hidden_size));
  for (int layer = 0; layer < config.layers; ++layer) {
    RETURN_IF_ERROR(loader.layer(layer, weights.layers.emplace_back()));
  }
  RETURN_IF_ERROR(loader.check_all_layers_used());
  ASSIGN_OR_RETURN(weights.memory, loader.pack_all());
  weights.digest = loader.digest();
  return weights;
}

}  // namespace cascade
