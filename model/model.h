// A loaded model: everything in its folder, or GGUF file, that inference needs.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/context_extension.h"
#include "base/hash.h"
#include "base/memory_limit.h"
#include "base/result.h"
#include "cache/kv_view.h"
#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "model/config.h"
#include "model/conversation_template.h"
#include "model/safetensors.h"
#include "model/tokenizer.h"
#include "model/weights.h"

namespace cascade {

struct GrammarVocabulary;     // model/grammar/vocabulary.h
class LazyGrammarVocabulary;  // the same
std::shared_ptr<const LazyGrammarVocabulary> make_lazy_grammar_vocabulary();

struct ModelOptions {
  WeightType weight_type = WeightType::kBf16;  // in a Model: what suits most bytes of its files
  KvType kv_type = KvType::kInt8;
  Isa isa = Isa::kScalar;
  // Where packed weights are kept for the next start (model/packed_cache.h); empty: nowhere.
  std::filesystem::path state_dir = {};
  // Use the type that suits the model's files instead of weight_type (model/weight_choice.h).
  bool weights_as_in_files = false;
  // A file with the chat template to use instead of the model's own; empty: the model's own.
  std::filesystem::path chat_template = {};
  // The RoPE scaling to use instead of the model's own (model/extend_context.h).
  std::optional<ContextExtension> rope_scaling = {};
  // Refuse a model that does not fit this memory, even without K and V; nullopt: try to load it.
  std::optional<MemoryLimit> memory = {};
  // Receives a sentence for a log, on a thread of the model's own, if packed weights cannot be kept
  // and this is found after the load. Empty: nobody wants to know.
  PackedCache::LateWarning late_warning = {};
};

// Immutable after load; any thread.
struct Model {
  std::string name;  // of the folder, or of the GGUF file without its ending
  ModelOptions options;
  ModelConfig config;
  GenerationConfig generation;
  const Kernels* kernels = nullptr;
  Tokenizer tokenizer;
  ModelTemplates templates;
  Weights weights;
  KvLayout kv_layout;
  LoadReport load;

  // The tokens as constrained sampling sees them; made at the first call.
  // Errors: as GrammarVocabulary::make().
  const Result<GrammarVocabulary>& grammar_vocabulary() const;
  std::shared_ptr<const LazyGrammarVocabulary> lazy_vocabulary = make_lazy_grammar_vocabulary();

  // The root of all chains of `tenant`: digests everything that K and V depend on besides tokens.
  Digest root_key(std::string_view tenant) const;
  // The root that the chains would have with these types of weights and of K and V; `packed`
  // describes the weights.
  Digest root_key_with(std::string_view tenant, const ModelOptions& types,
                       const PackedWeights& packed) const;
  // Digests everything that an answer depends on besides its prompt's tokens and its request.
  Digest answer_key() const;
};

// Below, a path is that of a Hugging Face model folder, of a GGUF file, or of the first part of a
// split GGUF file. A file is GGUF if its name ends with ".gguf" or it begins with "GGUF".

// Names the types of a loaded model's matrices, that of options.weight_type first: "q4k and q6k".
std::string weight_types(const Model& model);

// The parts of a model that need no weights, for tools that only tokenize.
struct ModelText {
  Tokenizer tokenizer;
  ModelTemplates templates;
  OrderedJson template_tokens =
      OrderedJson::object();  // bos_token, eos_token, ... as templates see them
};
// For a folder, reads tokenizer.json, tokenizer_config.json and templates (template_files.h).
// Errors as load_model.
Result<ModelText> load_model_text(const std::filesystem::path& path);

// For a folder, reads config.json alone; applies options.rope_scaling. Errors as load_model.
Result<ModelConfig> load_model_config(const std::filesystem::path& path,
                                      const ModelOptions& options = {});

// The tables of the files that have the weights. Errors as load_model.
Result<TensorFiles> open_model_tensors(const std::filesystem::path& path);

// The types that load_model() would choose for the weights of these files; `why` is empty if
// `options` name the type.
WeightChoice choose_weights(const TensorFiles& files, const ModelOptions& options);

// describe_weights() of the model that lies at `path`; `config` and `files` are its own. Its errors
// name a GGUF file and the tensor of that file.
Result<PackedWeights> describe_model_weights(const std::filesystem::path& path,
                                             const TensorFiles& files, const ModelConfig& config,
                                             const WeightPlan& plan, const Kernels& kernels);

// Does all that load_model() does before it packs weights: reads the configuration, the tokenizer,
// the template and the tensors' tables, and looks for every tensor. Loading may then still fail for
// lack of memory, or because a matrix has values that are not finite. Errors as load_model.
Status check_model(const std::filesystem::path& path, const ModelOptions& options);

// Loads a model. `pool` packs the weights; `progress`, unless null, is told of the weights. Trouble
// with the state directory becomes a warning in Model::load, or a late one. Errors: kNotFound
// (field = path), kInvalidArgument, kUnsupported, kDataCorrupt, each with the file or key as field;
// kResourceExhausted, field "model", for one larger than options.memory, before anything is
// allocated. Nothing is left allocated.
Result<std::unique_ptr<Model>> load_model(const std::filesystem::path& path,
                                          const ModelOptions& options, ThreadPool& pool,
                                          LoadProgress* progress = nullptr);

}  // namespace cascade
