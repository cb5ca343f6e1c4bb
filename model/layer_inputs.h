// Inputs of single layers: what each layer of Gemma 4 adds to the residual stream at its end.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "model/config.h"
#include "model/matrix_multiplier.h"
#include "model/packed_memory.h"
#include "model/weights.h"

namespace cascade {

// Each layer has an input of its own for each token: an embedding of the token, and a projection of
// the embedding that all layers share ("per-layer embeddings", Gemma 3n and 4). At its end a layer
// gates that input by the residual stream, projects it, and adds it.
//
// Owns its buffers, so one call at a time. All that is given to the constructor must outlive this.
class LayerInputs {
 public:
  // At most `rows_max` rows in a call. Precondition: the weights have layer inputs.
  LayerInputs(const ModelConfig& config, const LayerInputWeights& weights, const Kernels& kernels,
              ThreadPool& pool, MatrixMultiplier& multiplier, int rows_max);

  // The bytes of all buffers; 0 if the model has no such inputs.
  static size_t bytes(const ModelConfig& config, int rows_max, int threads);

  // Computes the inputs of all layers for tokens `ids`. embedded: [ids, hidden_size], the input of
  // the first layer. `quantized` has room for the quantised rows, here and in add().
  void compute(std::span<const int32_t> ids, const float* embedded, uint8_t* quantized);
  // Keeps the inputs of row `from` as those of row `to`, which comes before it.
  void move(int from, int to);
  // Gates and projects the inputs of `layer`, and adds them to the first rows of the residual
  // stream [rows, hidden_size]. `projected` is for results between: rows `stride` apart,
  // hidden_size each.
  void add(int layer, const LayerInputProjections& w, int rows, float* residual, float* projected,
           size_t stride, uint8_t* quantized);

 private:
  const ModelConfig& config_;
  const LayerInputWeights& weights_;
  const Kernels& kernels_;
  ThreadPool& pool_;
  MatrixMultiplier& multiplier_;
  PackedMemory memory_;  // all that follows
  size_t inputs_stride_, gate_stride_;
  float* inputs_;      // [rows_max, inputs_stride]: of all layers, one after the other
  float* gates_;       // [rows_max, gate_stride]
  float* embeddings_;  // [threads, inputs_stride]: of one token
};

}  // namespace cascade
