// Loads weights: from the cache of packed weights, else by packing the tensors.
#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "model/layer_weights.h"
#include "model/packing_plan.h"
#include "model/weights_packing.h"

namespace cascade {
namespace {

constexpr std::string_view kEmbedding = "model.embed_tokens.weight";
constexpr std::string_view kLayerEmbedding = "model.embed_tokens_per_layer.weight";

// Rounded as in the program of the model's authors: to the type in which that program has the
// weights.
float embedding_multiplier(const PackingPlan& plan) {
  const float multiplier = plan.config().embedding_multiplier;
  if (!plan.config().rounds_embedding_multiplier) return multiplier;
  const TensorType type = plan.type_in_file(kEmbedding);
  if (type == TensorType::kBf16) return bf16_to_f32(f32_to_bf16(multiplier));
  if (type == TensorType::kF16) return f16_to_f32(f32_to_f16(multiplier));
  return multiplier;
}

SourceState source_state(const TensorFiles& files, const PackingPlan& plan) {
  SourceState source;
  std::error_code ignored;
  Hasher state;
  for (const auto& [name, tensor] : plan.tensors()) {
    state.field("name", name).field("type", to_string(tensor.type));
    for (const int64_t dimension : tensor.shape) state.field("dim", uint64_t(dimension));
    if (tensor.interleaved_head_rows > 0) {
      state.field("interleaved rows", uint64_t(tensor.interleaved_head_rows));
    }
    if (tensor.interleaved_run > 1) {
      state.field("interleaved run", uint64_t(tensor.interleaved_run));
    }
  }
  for (const auto& [path, identity] : files.sources()) {
    state.field("path", std::filesystem::weakly_canonical(path, ignored).native());
    state.field("inode", identity.inode).field("size", identity.bytes);
    state.field("modified", uint64_t(identity.modified_ns));
    state.field("changed", uint64_t(identity.changed_ns));
    source.changed_ns = std::max({source.changed_ns, identity.modified_ns, identity.changed_ns});
  }
  source.state = state.finish();
  const auto folder = std::filesystem::weakly_canonical(files.place(), ignored);
  source.place = Hasher().field("folder", folder.native()).finish();
  source.folder = utf8_replace_malformed(folder.native());
  return source;
}

Status find_layer_inputs(PackingPlan& plan, LayerInputWeights& w) {
  const ModelConfig& config = plan.config();
  const int all = config.layers * config.layer_input_size;
  RETURN_IF_ERROR(
      plan.matrix(std::string(kLayerEmbedding), config.layer_input_vocab, all, w.embedding));
  w.embedding_multiplier = std::sqrt(static_cast<float>(config.layer_input_size));
  RETURN_IF_ERROR(plan.stacked({{"model.per_layer_model_projection.weight", all}},
                               config.hidden_size, w.projection));
  ASSIGN_OR_RETURN(w.norm,
                   plan.norm("model.per_layer_projection_norm.weight", config.layer_input_size));
  return {};
}

// Every tensor is found before memory is taken, so that a configuration cannot ask for more than
// its files hold.
Status find_all(PackingPlan& plan, Weights& weights) {
  const ModelConfig& config = plan.config();
  RETURN_IF_ERROR(plan.matrix(std::string(kEmbedding), config.vocab_size, config.hidden_size,
                              weights.embedding, config.tied_embeddings));
  weights.embedding_multiplier = embedding_multiplier(plan);
  if (!config.tied_embeddings) {
    RETURN_IF_ERROR(
        plan.matrix("lm_head.weight", config.vocab_size, config.hidden_size, weights.head, true));
  }
  ASSIGN_OR_RETURN(weights.final_norm,
                   plan.norm(std::string(final_norm_name(config)), config.hidden_size));
  if (config.layer_input_size > 0) {
    weights.layer_inputs = std::make_unique<LayerInputWeights>();
    RETURN_IF_ERROR(find_layer_inputs(plan, *weights.layer_inputs));
  }
  for (int layer = 0; layer < config.layers; ++layer) {
    RETURN_IF_ERROR(find_layer(plan, layer, weights.layers.emplace_back()));
  }
  weights.block_scales = plan.has_block_scales();
  weights.types = plan.types();
  weights.record_types = plan.record_types();
  return plan.check_all_layers_used();
}

// The digest from a stamp; without one, the digest computed from the tensors if the cache may hold
// their packed weights. Otherwise nullopt: the digest is computed while the tensors are packed.
std::optional<Digest> early_digest(const PackingPlan& plan, const SourceState& source,
                                   ThreadPool& pool, PackedCache& cache, LoadReport& report,
                                   LoadProgress& progress) {
  if (const auto known = cache.known_digest(source)) return known;
  if (!cache.may_hold(plan.packed_bytes())) return std::nullopt;
  report.hashed = true;
  const auto packed_bytes = static_cast<int64_t>(plan.packed_bytes());
  progress.expect(plan.tensor_bytes() + packed_bytes);
  const Digest digest = digest_tensors(plan.tensors(), pool, &progress);
  progress.expect(-packed_bytes);  // whoever reads the packed weights expects these bytes again
  return digest;
}

// Packs the tensors into memory; their digest is computed on the way unless it is known.
Status pack_all(PackingPlan& plan, std::optional<Digest> digest, ThreadPool& pool, Weights& weights,
                LoadReport& report, LoadProgress& progress) {
  ASSIGN_OR_RETURN(weights.memory, PackedMemory::allocate(plan.packed_bytes()));
  plan.place(weights.memory.data());
  progress.expect(plan.tensor_bytes());
  TensorDigest computed(plan.tensors());
  RETURN_IF_ERROR(pack_tensors(plan.tensors(), plan.jobs(), digest ? nullptr : &computed,
                               weights.memory.data(), pool, &progress));
  report.hashed |= !digest;
  weights.digest = digest ? *digest : computed.finish();
  return {};
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

bool StackedMatrix::takes_floats() const {
  return !std::ranges::all_of(matrices, &PackedMatrix::quantized);
}

bool StackedMatrix::has_k_quants() const {
  return std::ranges::any_of(matrices,
                             [](const PackedMatrix& matrix) { return is_k_quant(matrix.type); });
}

size_t StackedMatrix::bytes() const {
  size_t bytes = 0;
  for (const PackedMatrix& matrix : matrices) bytes += matrix.bytes();
  return bytes;
}

std::vector<const StackedMatrix*> LayerWeights::stacks() const {
  std::vector<const StackedMatrix*> all = {recurrent == nullptr ? &qkv : &recurrent->input};
  if (recurrent != nullptr && !recurrent->steps.matrices.empty()) all.push_back(&recurrent->steps);
  all.push_back(&output);
  if (input != nullptr) all.insert(all.end(), {&input->gate, &input->output});
  if (!gate_up.matrices.empty()) all.insert(all.end(), {&gate_up, &down});
  if (mixture == nullptr) return all;
  all.push_back(&mixture->router);
  for (size_t i = 0; i < mixture->gate_up.size(); ++i) {
    all.insert(all.end(), {&mixture->gate_up[i], &mixture->down[i]});
  }
  return all;
}

Result<Weights> load_weights(const TensorFiles& files, const ModelConfig& config,
                             const WeightPlan& types, const Kernels& kernels, ThreadPool& pool,
                             PackedCache& cache, LoadReport& report, LoadProgress* progress) {
  LoadProgress unseen;
  LoadProgress& seen = progress == nullptr ? unseen : *progress;
  PackingPlan plan(files, config, types, kernels);
  Weights weights;
  RETURN_IF_ERROR(find_all(plan, weights));
  const SourceState source = source_state(files, plan);
  const std::optional<Digest> digest = early_digest(plan, source, pool, cache, report, seen);
  if (digest) {
    weights.digest = *digest;
    if (auto mapped = cache.load(plan.file_id(*digest), pool, &seen)) {
      report.from_cache = true;
      weights.memory = std::move(*mapped);
      plan.place(weights.memory.data());
    }
  }
  if (!report.from_cache) {
    RETURN_IF_ERROR(pack_all(plan, digest, pool, weights, report, seen));
  }
  if (!files.unchanged()) {
    report.warnings.push_back(source.folder +
                              ": its weights were changed while they were read; start again");
  } else {
    if (report.hashed) cache.remember_digest(source, weights.digest);
    if (!report.from_cache) {
      cache.clean_up(source, weights.digest);
      weights.keeper = cache.keep(weights.memory, plan.file_id(weights.digest));
    }
  }
  report.warnings.insert(report.warnings.end(), cache.warnings().begin(), cache.warnings().end());
  return weights;
}

Result<PackedWeights> describe_weights(const TensorFiles& files, const ModelConfig& config,
                                       const WeightPlan& types, const Kernels& kernels) {
  PackingPlan plan(files, config, types, kernels);
  Weights weights;
  RETURN_IF_ERROR(find_all(plan, weights));
  return PackedWeights{plan.packed_bytes(), plan.types(), plan.has_block_scales(),
                       plan.record_types()};
}

}  // namespace cascade
