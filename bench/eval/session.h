// A model, its pages and one chain at a time: the forward pass without a daemon.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/spilled_chain.h"
#include "bench/weights_option.h"
#include "cache/page_arena.h"
#include "kernels/thread_pool.h"
#include "model/attention_mode.h"
#include "model/model.h"
#include "model/sampler.h"
#include "model/transformer.h"

namespace cascade::eval {

struct SessionOptions {
  std::string model_dir = {};
  std::string weights = "f32";
  std::string kv = "f32";
  std::string isa = {};             // empty: the best
  std::string state_dir = {};       // the place of packed weights; empty: they are not kept
  std::string rope_scaling = {};    // as the daemon's --rope-scaling; empty: the model's own
  int threads = 0;                  // 0: all cores
  std::string attention = "dense";  // as parse_attention_mode() reads it
  // The most memory for K and V; what the chain has more is read from a file in spill_dir. 0: all
  // that the chain needs.
  int64_t kv_memory = 0;
  std::string spill_dir = "/tmp";
};

// Turns the names in `options` into ModelOptions. Errors: kInvalidArgument, with the option as
// field, for an unknown name.
Result<ModelOptions> model_options_of(const SessionOptions& options);

// The mode that `options` name. Errors: kInvalidArgument, field "--attention".
Result<AttentionMode> attention_of(const SessionOptions& options);

// The number of threads that `options` asks for.
int thread_count(const SessionOptions& options);
std::shared_ptr<ThreadPool> make_pool(const SessionOptions& options);

// Used by one thread.
class Session {
 public:
  // Errors: those of load_model, model_options_of, attention_of and SpilledChain::create.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);
  // The same, with threads that several sessions use in turn; options.threads is ignored.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options,
                                               std::shared_ptr<ThreadPool> pool);
  // The same in f32, with the values of `weights`, which are of the same model, in any type.
  static Result<std::unique_ptr<Session>> open_with_values_of(const Weights& weights,
                                                              const SessionOptions& options,
                                                              std::shared_ptr<ThreadPool> pool);

  const Model& model() const { return *model_; }
  const AttentionMode& attention() const { return attention_; }
  int64_t length() const { return length_; }
  // The number of tokens so far that selected, in some layer.
  int64_t selected_tokens() const { return transformer_.selected_tokens(); }

  // Forgets the chain, and attends in `mode` from now on. Errors: kInvalidArgument, field
  // "--kv-memory": it has no room for the indexes of pages; then the session is not used again.
  Status start(const AttentionMode& mode);
  // Forgets the chain.
  void clear() { cut(0); }
  // Forgets the tokens from `length` on. Precondition: length is 0 or length() if the model has
  // recurrent layers.
  void cut(int64_t length);
  // Takes the tokens [begin, end) out of the chain, and moves K and V of those after them down to
  // `begin`, as the think policies do (model/row_mover.h): with kSplice, keys are turned to where
  // they stand then; with kMask, the positions of the tokens stay free, and append() counts them.
  // Preconditions: 0 < begin < end < length(); `how` is not kNone; all of K and V are in memory, no
  // layer is recurrent, the mode is dense, and the chain has no free positions.
  void remove(int64_t begin, int64_t end, Approximation how);
  // The bytes of the pages that hold the chain's K and V.
  int64_t page_bytes() const {
    return (length_ + kPageTokens - 1) / kPageTokens *
           static_cast<int64_t>(model_->kv_layout.page_bytes());
  }
  // How many tokens the model's context has room for after the chain.
  int64_t room() const { return model_->config.context_tokens_max - length_ - free_positions_; }

  // Appends `ids` in slices of `slice` tokens (0: all at once). For each of the last `outputs`
  // tokens calls on_logits(index in ids, logits [vocab_size]). Errors: kInvalidArgument, field
  // "ids", if the chain would exceed the model's context; those of SpilledChain.
  Status append(std::span<const int32_t> ids, int slice, int outputs,
                const std::function<void(size_t index, std::span<float> logits)>& on_logits);

  // Appends `ids` at once; returns the final hidden states [ids, hidden_size] of all of them.
  // Errors: those of append().
  Result<std::vector<float>> append(std::span<const int32_t> ids);
  // Computes the logits [rows, vocab_size] of hidden states [rows, hidden_size].
  void logits(const float* hidden, int rows, float* logits) {
    transformer_.logits(hidden, rows, logits);
  }

 private:
  Session(const SessionOptions& options, std::shared_ptr<ThreadPool> pool,
          std::unique_ptr<Model> model);

  // `values`: what the weights are replaced with, or nullptr.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options,
                                               std::shared_ptr<ThreadPool> pool,
                                               const Weights* values);

  // Makes room for the K and V of a whole context, in `mode`.
  Status make_room(const AttentionMode& mode);
  // Writes the hidden states of the last `outputs` of the appended tokens to `hidden`.
  // Precondition: fits(). Errors: those of SpilledChain.
  Status forward(std::span<const int32_t> ids, int outputs, float* hidden);
  Status fits(int64_t tokens) const;

  const SessionOptions options_;
  std::shared_ptr<ThreadPool> pool_;
  std::unique_ptr<Model> model_;
  AttentionMode attention_;
  std::optional<PageArena> arena_;                // one of these two
  std::unique_ptr<bench::SpilledChain> spilled_;  // with SessionOptions::kv_memory
  Transformer transformer_;
  std::vector<uint8_t*> pages_;  // of arena_
  std::vector<float> state_;     // of recurrent layers, after the last token
  int64_t length_ = 0;
  int64_t indexed_pages_ = 0;
  int64_t free_positions_ = 0;  // before the token at free_begin_
  int64_t free_begin_ = 0;
};

// -log p(target) under the logits, in f64.
double negative_log_likelihood(const Kernels& kernels, std::span<const float> logits,
                               int32_t target);

}  // namespace cascade::eval
