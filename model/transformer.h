// The forward pass: token ids in, K and V into pages, hidden states and logits out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cache/kv_view.h"
#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "model/activations.h"
#include "model/attention_pass.h"
#include "model/config.h"
#include "model/interrupt.h"
#include "model/layer_inputs.h"
#include "model/matrix_multiplier.h"
#include "model/mixture_pass.h"
#include "model/packed_memory.h"
#include "model/paused_pass.h"
#include "model/recurrent_pass.h"
#include "model/rope_angles.h"
#include "model/slice.h"
#include "model/weights.h"

namespace cascade {

// The layout of pages for `config` with K and V held as `type`.
KvLayout kv_layout(const ModelConfig& config, KvType type);

// One decoder for all model types (ModelConfig). Prefill and decode are the same function: a decode
// step is a slice of one token, a batch is several slices. The bits of a token's K, V and hidden
// state do not depend on slicing, batch mates or threads (kernels/kernels.h).
//
// Owns its activation buffers, so one call at a time. Weights, kernels and pool must outlive it.
class Transformer {
 public:
  // The number of rows that callers should compute together: 512 rows make the weights' traffic
  // small against arithmetic (over 100 operations a byte), and their activations fit a few MiB.
  static constexpr int kRowsUsual = 512;
  // The largest number of rows that are computed together; more rows are cut into passes. A pass
  // reads absent pages once, so more rows make that traffic smaller. The memory of rows that were
  // never computed is not taken from the system.
  static constexpr int kRowsMax = 2048;

  Transformer(const ModelConfig& config, const Weights& weights, const Kernels& kernels,
              const KvLayout& layout, ThreadPool& pool);

  // Runs the slices; different slices are different sequences. `hidden` receives the wanted hidden
  // states after the final norm, slice by slice, [sum of outputs, hidden_size]. `interrupt` may end
  // the call early. `paused` then says where another call goes on, if it has the same slice, and
  // nobody has changed its K, V and indexes meanwhile; what it does has the same bits.
  // Preconditions (CHECKed): as stated at Slice; with `paused`, there is one slice of at most
  // kRowsMax tokens, without absent pages, all or none of whose tokens are outputs, and no layer is
  // recurrent. Errors: those of a slice's reader; kCancelled if `interrupt` said so. After an
  // error, K and V of any of the slices' tokens may be missing, and `hidden` is incomplete; the
  // same call may be made again.
  Status forward(std::span<const Slice> slices, float* hidden, const Interrupt& interrupt = {},
                 PausedPass* paused = nullptr);

  // logits[r] = LM head * hidden[r]; hidden [rows, hidden_size], logits [rows, vocab_size]. All NaN
  // where a value of hidden[r] is not finite.
  void logits(const float* hidden, int rows, float* logits);

  using Row = SliceRow;
  // Called after every layer with the rows of the pass and their residual stream
  // [rows, hidden_size]; from the last layer with a state on with the wanted rows only.
  // For measurements and signs of life.
  using Observer = std::function<void(int layer, std::span<const Row>, const float* residual)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  // The number of tokens so far that selected, in some layer.
  int64_t selected_tokens() const { return attention_pass_.selected_tokens(); }

  const ModelConfig& config() const { return config_; }
  const Kernels& kernels() const { return kernels_; }

 private:
  struct Breaks {
    const Interrupt& interrupt;
    PausedPass* paused;
  };
  Status run_pass(std::span<const Slice> slices, std::span<const int> skip,
                  std::span<const int> take, float* hidden, const Breaks& breaks);
  Status run_layers(std::span<const Slice> slices, const Breaks& breaks);
  void embed(std::span<const Slice> slices);
  // The product of all rows.
  Product product(const StackedMatrix& w, const float* x, size_t x_stride, float* y,
                  size_t y_stride) const;
  void multiply(const Product& product);
  void project_qkv(const LayerWeights& w, std::span<const Slice> slices, int layer);
  // Computes the attention of `layer` into buffers_.attention. If the layer is the last one with a
  // state, only the wanted rows are left, perhaps none.
  Status attend(const LayerWeights& w, std::span<const Slice> slices, int layer,
                const Interrupt& interrupt);
  // Adds the attention of `layer`, or what a recurrent layer has in place of it, to the residual
  // stream, and norms the input of the MLP. After an error in a pass that keeps all rows, the
  // residual stream is as before.
  Status add_attention(const LayerWeights& w, std::span<const Slice> slices, int layer,
                       const Interrupt& interrupt);
  void finish_layer(const LayerWeights& w, int layer);
  void run_mlp(const LayerWeights& w);
  // Sets a row of buffers_.normed to the RMSNorm of the residual stream by `norm`, or to a copy of
  // the residual stream if `norm` is empty.
  void norm_input(const std::vector<float>& norm, int row);
  // Adds a row of buffers_.projected, normed by `norm` unless `norm` is empty, to the residual
  // stream.
  void add_output(const std::vector<float>& norm, int row);
  // Only the wanted rows matter from here on. `buffer` has other results of all rows, `stride`
  // apart.
  void keep_output_rows(float* buffer, size_t stride);
  template <class Body>
  void for_rows(const Body& body);

  const ModelConfig config_;
  const Weights& weights_;
  const Kernels& kernels_;
  const KvLayout layout_;
  ThreadPool& pool_;
  RopeAngles angles_;
  Observer observer_;

  // The pass in progress.
  std::vector<Row> rows_;
  AttentionPass attention_pass_;
  MatrixMultiplier multiplier_;
  std::optional<MixturePass> mixture_pass_;      // if some layer is a mixture
  std::optional<RecurrentPass> recurrent_pass_;  // if some layer is recurrent
  std::optional<LayerInputs> layer_inputs_;      // if layers have inputs of their own
  const ActivationSizes sizes_;                  // the widths of the rows
  PackedMemory memory_;                          // of the activations
  ActivationRows buffers_;                       // [kRowsMax, ...]
};

}  // namespace cascade
