// The weights of one model, packed for one kernel table.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/hash.h"
#include "base/result.h"
#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "model/config.h"
#include "model/packed_cache.h"
#include "model/packed_keeper.h"
#include "model/packed_memory.h"
#include "model/safetensors.h"
#include "model/weight_choice.h"

namespace cascade {

// Several projections of the same input, multiplied together: one matrix, or several of different
// types. The output channels of the matrices follow each other; each begins at a whole panel. Those
// of part i begin at offset[i], at a whole panel unless the parts are one tensor in the model's
// files.
struct StackedMatrix {
  std::vector<PackedMatrix> matrices;  // with the same k
  std::vector<int> offset;             // [parts]
  std::vector<float> bias;             // [n_padded()], or empty

  int k() const { return matrices.front().k; }
  int n_padded() const;
  int panels() const { return n_padded() / kPanelChannels; }
  // Whether some matrix needs quantised input rows.
  bool quantized() const;
  // Whether some matrix needs input rows that are not quantised.
  bool takes_floats() const;
  bool has_k_quants() const;
  size_t bytes() const;
};

// The norms of a mixture that stands beside an MLP (MixtureConfig::beside_mlp): the factors
// [hidden_size] of each.
struct BesideMlpNorms {
  std::vector<float> router_input;
  std::vector<float> input;       // of the experts
  std::vector<float> output;      // of the experts
  std::vector<float> mlp_output;  // of the MLP alone
};

// The MLP of a layer that is a mixture of experts (ModelConfig::mixture).
struct MixtureWeights {
  // Parts: [experts], and [1] if the shared expert has a gate. bf16 or f32: no value is rounded,
  // since a small error in the logits is enough to choose another expert.
  StackedMatrix router;
  std::vector<float> choice_bias;    // [experts], or empty
  std::vector<float> expert_scales;  // [experts], of their weights, or empty
  BesideMlpNorms beside;             // empty if there is no MLP beside it
  // [experts], each as in LayerWeights. After them comes the shared expert, if there is one.
  std::vector<StackedMatrix> gate_up;
  std::vector<StackedMatrix> down;
};

// The matrices by which a layer adds its own input (model/layer_inputs.h).
struct LayerInputProjections {
  StackedMatrix gate;       // [layer_input_size, hidden_size]
  StackedMatrix output;     // [hidden_size, layer_input_size]
  std::vector<float> norm;  // [hidden_size]: of the output
};

// The weights from which the layers' own inputs are computed.
struct LayerInputWeights {
  PackedMatrix embedding;    // [layer_input_vocab, layers * layer_input_size]
  StackedMatrix projection;  // [layers * layer_input_size, hidden_size]
  std::vector<float> norm;   // [layer_input_size]: of each layer's part of the projection
  float embedding_multiplier = 1;
};

// What a recurrent layer has in place of q, k and v (ModelConfig::recurrent).
struct RecurrentWeights {
  // Parts, with the input hidden_size. kConvolution: one, of [gate of the input, gate of the
  // output, input]. kMamba: one, of [gate, convolution's input, steps]. kDeltaNet: convolution's
  // input and gate, or one of both, key head by key head.
  StackedMatrix input;
  // kDeltaNet: the logits of rates and decays, as two parts or as one, key head by key head. bf16
  // or f32: an error in a decay grows with every token.
  StackedMatrix steps;
  std::vector<float> taps;        // [taps, channels], that of the oldest token first
  std::vector<float> taps_bias;   // [channels], or empty
  std::vector<float> decay_rate;  // [value_heads]: the logarithm of the decay of a step of size 1
  std::vector<float> step_bias;   // [value_heads]
  std::vector<float> skip;        // [value_heads]: the factor of the input in the output, or empty
  std::vector<float> norm;        // [value_dim] (kDeltaNet), [value_channels()] (kMamba), or empty
};

struct LayerWeights {
  // A norm is empty if the model does not have it. If norms add one to their weights, that one has
  // already been added.
  std::vector<float> attention_norm;         // [hidden_size]: of the input
  std::vector<float> attention_output_norm;  // [hidden_size]: of the output
  std::vector<float> mlp_norm;               // [hidden_size]
  std::vector<float> mlp_output_norm;        // [hidden_size]
  std::vector<float> query_norm;             // [head_dim], or [query_heads * head_dim]
  std::vector<float> key_norm;               // [head_dim], or [kv_heads * head_dim]
  std::vector<float> value_norm;             // [head_dim], ones, or empty
  std::vector<float> sink_logits;            // [query_heads], or empty
  float scale = 1;                           // of the residual stream after the layer
  // Parts: q, k, v, or those it has; input hidden_size. q has twice its rows if attention is gated:
  // those of the gates follow. Empty if the layer is recurrent.
  StackedMatrix qkv;
  std::unique_ptr<RecurrentWeights> recurrent;
  StackedMatrix output;   // input: outputs of attention, or of the recurrence
  StackedMatrix gate_up;  // parts: gate, up; input hidden_size
  StackedMatrix down;     // input intermediate_size
  // Instead of gate_up and down, which are empty then, or beside them.
  std::unique_ptr<MixtureWeights> mixture;
  std::unique_ptr<LayerInputProjections> input;  // if layers have inputs of their own

  // All matrices of the layer that are not empty, in the order of their memory.
  std::vector<const StackedMatrix*> stacks() const;
};

struct Weights {
  PackedMatrix embedding;          // [vocab_size, hidden_size]; also the LM head if tied
  PackedMatrix head;               // no data if tied
  std::vector<float> final_norm;   // [hidden_size]
  float embedding_multiplier = 1;  // as it is applied
  std::deque<LayerWeights> layers;
  std::unique_ptr<LayerInputWeights> layer_inputs;  // if layers have inputs of their own
  // Whether some quantised matrices keep the scales of the blocks in their file.
  bool block_scales = false;
  PackedMemory memory;  // of all matrices, one after the other
  // Writes `memory` to the cache; nullptr if it was found there or cannot be kept. It is declared
  // after `memory`, so that it ends first.
  std::unique_ptr<PackedKeeper> keeper;
  // The types of the matrices but routers, that of most bytes first.
  std::vector<WeightType> types;
  // The types of all matrices if some are K-quants, for the key of K and V; else empty.
  std::string record_types;
  // SHA-256 over every tensor's name, type, shape and bytes, as they are in the files.
  Digest digest;

  const PackedMatrix& lm_head() const { return head.data != nullptr ? head : embedding; }
  // The bytes of all packed matrices.
  size_t bytes() const { return memory.bytes(); }
};

// How the weights were loaded.
struct LoadReport {
  bool from_cache = false;  // mapped from a file of packed weights; else packed from the tensors
  std::string type_why;     // why the weights have their type; empty: it was asked for
  bool hashed = false;      // the tensors' bytes were read for the digest; else a stamp had it
  int64_t load_us = 0;      // of load_model() as a whole
  std::vector<std::string> warnings;  // sentences for a log: what did not work, and the consequence
};

// Finds every tensor that `config` calls for and checks its shape. Takes the packed weights from
// `cache` if they are there; else packs them into memory, and lets `cache` keep them, which goes on
// after this has returned (Weights::keeper). Uses the pool's threads.
// The digest is the same either way.
// Errors, field = tensor name: kNotFound, kInvalidArgument (shape), kUnsupported (type, or a tensor
// of a decoder layer that `config` has no use for: the results would not be the model's),
// kDataCorrupt (a value that is not finite; in matrices when they are packed), and kUnsupported
// also for a value that a matrix cannot hold. kResourceExhausted, field "weights". Trouble with the
// cache is a warning in `report`. `progress`, unless null, is told of the bytes of all tensors and
// of packed weights that are read.
Result<Weights> load_weights(const TensorFiles& files, const ModelConfig& config,
                             const WeightPlan& plan, const Kernels& kernels, ThreadPool& pool,
                             PackedCache& cache, LoadReport& report,
                             LoadProgress* progress = nullptr);

struct PackedWeights {
  size_t bytes = 0;               // Weights::bytes()
  std::vector<WeightType> types;  // this and the rest: as in Weights
  bool block_scales = false;
  std::string record_types;
};

// Describes what load_weights() would load. Reads the files' tables and vectors, but no matrix.
// Errors: those of load_weights() about the contents of the files.
Result<PackedWeights> describe_weights(const TensorFiles& files, const ModelConfig& config,
                                       const WeightPlan& plan, const Kernels& kernels);

}  // namespace cascade
