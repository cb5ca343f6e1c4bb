// A model, its pages and one chain at a time: the forward pass without a daemon.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cache/page_arena.h"
#include "kernels/thread_pool.h"
#include "model/model.h"
#include "model/sampler.h"
#include "model/transformer.h"

namespace cascade::eval {

struct SessionOptions {
  std::string model_dir;
  std::string weights = "f32";
  std::string kv = "f32";
  std::string isa;        // empty: the best
  std::string state_dir;  // where packed weights are kept; empty: nowhere
  int threads = 0;        // 0: all cores
};

// One thread.
class Session {
 public:
  // Errors: as load_model; kInvalidArgument for an option that names nothing.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);

  const Model& model() const { return *model_; }
  int64_t length() const { return length_; }

  // Forgets the chain.
  void clear() { length_ = 0; }

  // Appends `ids` in slices of `slice` tokens (0: all at once). For each of the last `outputs`
  // tokens calls on_logits(index in ids, logits [vocab_size]). Errors: kInvalidArgument, field
  // "ids", beyond the model's context.
  Status append(std::span<const int32_t> ids, int slice, int outputs,
                const std::function<void(size_t index, std::span<float> logits)>& on_logits);

 private:
  Session(std::unique_ptr<ThreadPool> pool, std::unique_ptr<Model> model, PageArena arena);

  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Model> model_;
  PageArena arena_;
  Transformer transformer_;
  std::vector<uint8_t*> pages_;
  int64_t length_ = 0;
};

// -log p(target) under the logits, in f64.
double negative_log_likelihood(const Kernels& kernels, std::span<const float> logits,
                               int32_t target);

}  // namespace cascade::eval
