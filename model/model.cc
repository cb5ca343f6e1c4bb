// Reads a Hugging Face model folder, file by file, and loads models of either form.
#include "model/model.h"

#include <array>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "kernels/kv_format.h"
#include "model/config_error.h"
#include "model/extend_context.h"
#include "model/folder_file.h"
#include "model/gguf/model.h"
#include "model/grammar/vocabulary.h"
#include "model/harmony.h"
#include "model/incomplete_file.h"
#include "model/memory_estimate.h"
#include "model/model_files.h"
#include "model/safetensors.h"
#include "model/sampler.h"
#include "model/template_files.h"
#include "model/text_part.h"
#include "model/transformer.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;

// tokenizer.json of a 250,000-token vocabulary has some 30 MB; the other files have kilobytes.
constexpr size_t kTokenizerBytesMax = size_t{64} << 20;
constexpr size_t kSmallFileBytesMax = size_t{4} << 20;

// The file as JSON; null if it does not exist and is not required.
Result<Json> read_json(const fs::path& path, size_t bytes_max, bool required) {
  auto text = read_folder_file(path, bytes_max);
  if (!text.ok()) {
    if (!required && text.error().code == ErrorCode::kNotFound) return Json();
    return std::move(text).error();
  }
  RETURN_IF_ERROR(check_is_downloaded(path.string(), *text));
  ASSIGN_OR_RETURN(Json json, parse_json(*text, path.filename().string()));
  if (!json.is_object()) return invalid_argument(path.filename().string(), "is not a JSON object");
  return json;
}

Result<ModelText> read_folder_text(const fs::path& dir) {
  ASSIGN_OR_RETURN(const Json tokenizer,
                   read_json(dir / "tokenizer.json", kTokenizerBytesMax, true));
  ASSIGN_OR_RETURN(const Json config,
                   read_json(dir / "tokenizer_config.json", kTokenizerBytesMax, false));
  ASSIGN_OR_RETURN(Tokenizer loaded, Tokenizer::load(tokenizer, config));
  OrderedJson tokens = template_tokens(config);
  ModelTemplates templates = read_templates(dir, config, tokens);
  return ModelText{std::move(loaded), std::move(templates), std::move(tokens)};
}

Result<ModelFiles> read_folder(const fs::path& dir) {
  ASSIGN_OR_RETURN(const Json config_json,
                   read_json(dir / "config.json", kSmallFileBytesMax, true));
  ASSIGN_OR_RETURN(const ModelConfig config, parse_model_config(config_json));
  ASSIGN_OR_RETURN(const Json generation_json,
                   read_json(dir / "generation_config.json", kSmallFileBytesMax, false));
  ASSIGN_OR_RETURN(
      GenerationConfig generation,
      parse_generation_config(generation_json,
                              config.is_text_part ? text_part_config(config_json) : config_json,
                              config.vocab_size));
  ASSIGN_OR_RETURN(ModelText text, read_folder_text(dir));
  if (text.tokenizer.id_count() > config.vocab_size) {
    return invalid_argument("vocab_size", "is " + std::to_string(config.vocab_size) +
                                              " in config.json, but tokenizer.json has " +
                                              std::to_string(text.tokenizer.id_count()) + " ids");
  }
  ASSIGN_OR_RETURN(TensorFiles tensors, TensorFiles::open(dir, config.is_text_part));
  std::error_code unreadable;
  std::string name = fs::weakly_canonical(dir, unreadable).filename().string();
  return ModelFiles{utf8_replace_malformed(name), config, std::move(generation), std::move(text),
                    std::move(tensors)};
}

Status check_is_folder(const fs::path& path) {
  std::error_code unreadable;
  if (fs::is_directory(path, unreadable)) return {};
  if (path.extension() == ".safetensors") {
    return invalid_argument(path.string(), "is one file of a model: give the folder that it is in");
  }
  if (auto file = MappedFile::open(path); file.ok()) {
    RETURN_IF_ERROR(check_is_downloaded(path.string(), file->bytes()));
  }
  return not_found(path.string(), "is neither a model folder nor a GGUF file");
}

Result<ModelFiles> read_own_files(const fs::path& path) {
  if (is_gguf_file(path)) return read_gguf_model(path);
  RETURN_IF_ERROR(check_is_folder(path));
  return read_folder(path);
}

Result<ModelConfig> read_own_config(const fs::path& path) {
  if (is_gguf_file(path)) return read_gguf_config(path);
  RETURN_IF_ERROR(check_is_folder(path));
  ASSIGN_OR_RETURN(const Json config, read_json(path / "config.json", kSmallFileBytesMax, true));
  return parse_model_config(config);
}

// Reads a model of either form; applies the RoPE scaling and the template that `options` name.
Result<ModelFiles> read_files(const fs::path& path, const ModelOptions& options) {
  ASSIGN_OR_RETURN(ModelFiles files, read_own_files(path));
  if (options.rope_scaling) {
    RETURN_IF_ERROR(extend_context(*options.rope_scaling, files.config));
  }
  if (options.chat_template.empty()) return files;
  ASSIGN_OR_RETURN(files.text.templates,
                   read_template_file(options.chat_template, files.text.template_tokens));
  return files;
}

// An error about tensors, in the terms of the file that has them.
Error of_weights(Error error, const fs::path& path, const ModelConfig& config,
                 const TensorFiles& tensors) {
  if (is_gguf_file(path)) return in_terms_of_gguf(std::move(error), path, config.model_type);
  const std::optional<std::string> file = tensors.file_of(error.field);
  return file ? in_file(std::move(error), *file) : error;
}

// Whether the weights and a forward pass fit the memory.
Status check_fits(const PackedWeights& weights, const ModelFiles& files, const WeightChoice& choice,
                  int threads, const MemoryLimit& memory) {
  ASSIGN_OR_RETURN(const MemoryEstimate needed,
                   estimate_memory(files.config, weights.bytes,
                                   {.weight_type = choice.plan.type,
                                    .some_quantized = choice.some_quantized,
                                    .threads = threads}));
  const uint64_t bytes = needed.weights_bytes + needed.activation_bytes;
  if (bytes <= static_cast<uint64_t>(memory.bytes)) return {};
  const auto mib = [](uint64_t count) { return std::to_string(count >> 20) + " MiB"; };
  const WeightType type = choice.plan.type;
  const bool is_smallest =
      type == WeightType::kInt4 || type == WeightType::kQ4K || type == WeightType::kMxfp4;
  const std::string limit = memory.set_by.empty() ? "this machine has" : memory.set_by + " allows";
  return resource_exhausted(
      "model", files.name + " needs " + mib(bytes) + " besides K and V (its weights " +
                   mib(needed.weights_bytes) + " as " +
                   describe_types(choice.plan.type, weights.types) + "), but " + limit + " " +
                   mib(static_cast<uint64_t>(memory.bytes)) + ": take a smaller model" +
                   (is_smallest ? "" : ", or fewer bits (--weights q4k or int4)"));
}

void add_numbers(std::span<const double> numbers, Hasher& hasher) {
  hasher.field("numbers",
               std::span(reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size_bytes()));
}

void add_rope(const RopeConfig& rope, Hasher& hasher) {
  const double numbers[] = {rope.theta,
                            static_cast<double>(rope.scaling),
                            rope.factor,
                            rope.low_freq_factor,
                            rope.high_freq_factor,
                            rope.original_context,
                            rope.beta_fast,
                            rope.beta_slow,
                            rope.truncate ? 1.0 : 0.0,
                            rope.attention_factor,
                            rope.rotary_share};
  add_numbers(numbers, hasher);
  add_numbers(std::vector<double>(rope.divisors.begin(), rope.divisors.end()), hasher);
  if (rope.scaling == RopeScaling::kProportional)
    add_numbers(std::array{rope.moving_share}, hasher);
}

// What differs between layers.
void add_shapes(const ModelConfig& config, Hasher& hasher) {
  for (const AttentionShape& shape : config.attention_shapes) {
    hasher.field("kv heads", uint64_t(shape.kv_heads)).field("head dim", uint64_t(shape.head_dim));
    hasher.field("kv part", uint64_t(shape.kv_part));
    hasher.field("key is value", uint64_t{shape.key_is_value});
  }
  hasher.field("value norms", uint64_t{config.value_norms});
  hasher.field("layer scales", uint64_t{config.layer_scales});
  hasher.field("layer inputs", uint64_t(config.layer_input_size));
}

void add_mixture(const MixtureConfig& mixture, Hasher& hasher) {
  const double numbers[] = {static_cast<double>(mixture.chosen),
                            static_cast<double>(mixture.score),
                            static_cast<double>(mixture.groups),
                            static_cast<double>(mixture.chosen_groups),
                            mixture.choice_bias ? 1.0 : 0.0,
                            mixture.normalizes ? 1.0 : 0.0,
                            mixture.scale};
  add_numbers(numbers, hasher);
  if (mixture.sum_offset != 0) add_numbers(std::array{double{mixture.sum_offset}}, hasher);
}

// The layers that have a state have no KV heads: add_shapes() says which ones these are.
void add_recurrent(const RecurrentConfig& recurrent, Hasher& hasher) {
  const double numbers[] = {static_cast<double>(recurrent.kind),
                            static_cast<double>(recurrent.taps),
                            static_cast<double>(recurrent.key_heads),
                            static_cast<double>(recurrent.value_heads),
                            static_cast<double>(recurrent.key_dim),
                            static_cast<double>(recurrent.value_dim),
                            recurrent.tiled_heads ? 1.0 : 0.0,
                            recurrent.has_rates ? 1.0 : 0.0,
                            recurrent.step_min,
                            recurrent.step_max};
  add_numbers(numbers, hasher);
}

}  // namespace

Result<ModelText> load_model_text(const fs::path& path) {
  if (is_gguf_file(path)) return read_gguf_text(path);
  return read_folder_text(path);
}

Result<ModelConfig> load_model_config(const fs::path& path, const ModelOptions& options) {
  ASSIGN_OR_RETURN(ModelConfig config, read_own_config(path));
  if (options.rope_scaling) RETURN_IF_ERROR(extend_context(*options.rope_scaling, config));
  return config;
}

WeightChoice choose_weights(const TensorFiles& files, const ModelOptions& options) {
  if (options.weights_as_in_files) return choose_weights(files);
  return {options.weight_type, "", is_quantized(options.weight_type)};
}

Result<TensorFiles> open_model_tensors(const fs::path& path) {
  if (is_gguf_file(path)) return open_gguf_tensors(path);
  ASSIGN_OR_RETURN(const Json config, read_json(path / "config.json", kSmallFileBytesMax, false));
  return TensorFiles::open(path, has_text_part(config));
}

Result<PackedWeights> describe_model_weights(const fs::path& path, const TensorFiles& files,
                                             const ModelConfig& config, const WeightPlan& plan,
                                             const Kernels& kernels) {
  auto weights = describe_weights(files, config, plan, kernels);
  if (!weights.ok()) return of_weights(std::move(weights).error(), path, config, files);
  return weights;
}

Status check_model(const fs::path& path, const ModelOptions& options) {
  ASSIGN_OR_RETURN(const Kernels* kernels, kernels_for(options.isa));
  ASSIGN_OR_RETURN(const ModelFiles files, read_files(path, options));
  const auto weights = describe_model_weights(
      path, files.tensors, files.config, choose_weights(files.tensors, options).plan, *kernels);
  if (!weights.ok()) return weights.error();
  return {};
}

Result<std::unique_ptr<Model>> load_model(const fs::path& path, const ModelOptions& options,
                                          ThreadPool& pool, LoadProgress* progress) {
  const int64_t start_us = system_clock().monotonic_us();
  ASSIGN_OR_RETURN(const Kernels* kernels, kernels_for(options.isa));
  ASSIGN_OR_RETURN(ModelFiles files, read_files(path, options));
  const WeightChoice choice = choose_weights(files.tensors, options);
  if (options.memory) {
    // If the tensors cannot be described, loading them says why.
    const auto weights = describe_weights(files.tensors, files.config, choice.plan, *kernels);
    if (weights.ok()) {
      RETURN_IF_ERROR(check_fits(*weights, files, choice, pool.threads(), *options.memory));
    }
  }
  PackedCache cache(options.state_dir, system_file_calls(), system_clock(), options.late_warning);
  LoadReport report;
  report.type_why = choice.why;
  Result<Weights> weights = load_weights(files.tensors, files.config, choice.plan, *kernels, pool,
                                         cache, report, progress);
  if (!weights.ok()) {
    return of_weights(std::move(weights).error(), path, files.config, files.tensors);
  }
  if (const auto marks = HarmonyTokens::of(files.text.tokenizer)) {
    marks->correct_end_tokens(files.generation.end_tokens);
  }
  for (std::string& problem : files.text.templates.problems()) {
    report.warnings.push_back(std::move(problem));
  }
  for (std::string& problem : files.generation.problems) {
    report.warnings.push_back(std::move(problem));
  }
  report.load_us = system_clock().monotonic_us() - start_us;
  ModelOptions chosen = options;
  chosen.weight_type = choice.plan.type;
  return std::unique_ptr<Model>(new Model{
      .name = std::move(files.name),
      .options = std::move(chosen),
      .config = files.config,
      .generation = std::move(files.generation),
      .kernels = kernels,
      .tokenizer = std::move(files.text.tokenizer),
      .templates = std::move(files.text.templates),
      .weights = std::move(weights).value(),
      .kv_layout = kv_layout(files.config, options.kv_type),
      .load = std::move(report),
  });
}

const Result<GrammarVocabulary>& Model::grammar_vocabulary() const {
  return lazy_vocabulary->get(tokenizer, generation.end_tokens,
                              static_cast<size_t>(config.vocab_size), templates.call_form());
}

Digest Model::root_key(std::string_view tenant) const {
  return root_key_with(
      tenant, options,
      {weights.bytes(), weights.types, weights.block_scales, weights.record_types});
}

Digest Model::root_key_with(std::string_view tenant, const ModelOptions& types,
                            const PackedWeights& packed) const {
  Hasher hasher;
  hasher.field("tenant", tenant).field("weights", weights.digest);
  hasher.field("weight_type", to_string(types.weight_type));
  if (packed.block_scales) hasher.field("weight scales", "of blocks");
  if (packed.types.size() > 1) hasher.field("weight types", "of matrices");
  if (!packed.record_types.empty()) hasher.field("K-quants", packed.record_types);
  hasher.field("kv_type", to_string(types.kv_type)).field("kv_layout", kKvLayoutVersion);
  // All instruction sets give the same bits, except the one that uses a BLAS.
  hasher.field("numerics", kNumericsVersion);
  hasher.field("blas", uint64_t{options.isa == Isa::kOpenblas});
  add_rope(config.rope, hasher);
  add_rope(config.local_rope, hasher);
  const double numbers[] = {config.rms_norm_eps,
                            static_cast<double>(config.activation),
                            static_cast<double>(config.qk_norm),
                            config.norms_add_one ? 1.0 : 0.0,
                            config.attention_scale,
                            config.attention_soft_cap,
                            weights.embedding_multiplier,
                            config.residual_multiplier};
  add_numbers(numbers, hasher);
  // The same weights with another split into heads give other K and V.
  for (const int count : {config.query_heads, config.kv_heads, config.head_dim}) {
    hasher.field("heads", static_cast<uint64_t>(count));
  }
  if (!config.mixture.layers.empty()) add_mixture(config.mixture, hasher);
  if (!config.attention_shapes.empty()) add_shapes(config, hasher);
  if (!config.recurrent.layers.empty()) add_recurrent(config.recurrent, hasher);
  if (config.query_scale_beta != 0) {
    hasher.field("query scale", uint64_t(config.query_scale_context));
    add_numbers(std::array{static_cast<double>(config.query_scale_beta)}, hasher);
  }
  for (const int window : config.window) hasher.field("window", static_cast<uint64_t>(window));
  for (const LayerRope rope : config.layer_rope) {
    hasher.field("layer rope", static_cast<uint64_t>(rope));
  }
  return hasher.finish();
}

Digest Model::answer_key() const {
  Hasher hasher;
  hasher.field("k and v", root_key("")).field("sampling", uint64_t{kSamplingVersion});
  const double numbers[] = {config.logit_soft_cap,
                            config.logit_multiplier,
                            generation.do_sample ? 1.0 : 0.0,
                            generation.temperature,
                            generation.top_p,
                            static_cast<double>(generation.top_k),
                            generation.min_p,
                            generation.repetition_penalty};
  add_numbers(numbers, hasher);
  hasher.field("end tokens", std::span<const int32_t>(generation.end_tokens));
  return hasher.finish();
}

std::string weight_types(const Model& model) {
  return describe_types(model.options.weight_type, model.weights.types);
}

}  // namespace cascade
