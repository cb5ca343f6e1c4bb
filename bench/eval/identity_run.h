// Runs a case of `cascade-eval identity` in its two ways.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "bench/eval/difference.h"
#include "bench/eval/identity_case.h"
#include "cache/page_arena.h"
#include "model/model.h"
#include "model/transformer.h"

namespace cascade::eval {

// The pages of all sequences of one run.
class PageHeap {
 public:
  // In the order of memory and zero without `random`; else shuffled, and each filled with garbage.
  // Errors: as PageArena::create.
  static Result<std::unique_ptr<PageHeap>> create(const KvLayout& layout, size_t count,
                                                  Random* random);
  // A page that nobody has. Precondition: there is one.
  uint8_t* take();

 private:
  explicit PageHeap(PageArena arena) : arena_(std::move(arena)) {}

  PageArena arena_;
  std::vector<PageIndex> free_;  // the next is the last
  // Of its own, since how much is drawn depends on the size of pages.
  std::optional<Random> garbage_;
};

// The residual stream behind each layer, as far as it was computed.
struct LayerStates {
  int width = 0;
  int64_t tokens = 0;
  std::vector<std::vector<float>> states;  // [layers][tokens * width]
  std::vector<std::vector<bool>> known;    // [layers][tokens]
};

// What one way of computing a case left.
struct IdentityRun {
  std::unique_ptr<PageHeap> heap;
  std::vector<uint8_t*> pages;
  std::vector<float> hidden;  // [outputs, hidden_size]
  std::vector<float> logits;  // [outputs, vocab_size]
  LayerStates layers;         // if it was asked for
  int sharing_mates = 0;      // that had pages of the sequence as their own
};

// One thread; the model must outlive it.
class IdentityRunner {
 public:
  explicit IdentityRunner(const Model& model) : model_(model) {}

  // The sequence alone, on one thread, in slices of 64. `record`: with layers. Errors: as
  // PageArena::create.
  Result<IdentityRun> reference(const IdentityCase& drawn, bool record);
  // As the case says.
  Result<IdentityRun> variant(const IdentityCase& drawn, bool record);

  // Compares K and V of all tokens, hidden states and logits of the outputs, and layers that both
  // have.
  Comparison compare(const IdentityCase& drawn, const IdentityRun& reference,
                     const IdentityRun& variant) const;

 private:
  struct Threads {
    std::unique_ptr<ThreadPool> pool;
    std::unique_ptr<Transformer> transformer;
  };
  Transformer& transformer(int threads);
  Result<IdentityRun> start_run(const IdentityCase& drawn, Random* random, bool record) const;
  void run_donor(const IdentityCase& drawn, Random& random, IdentityRun& run, bool record);

  const Model& model_;
  std::map<int, Threads> threads_;  // by their number
};

}  // namespace cascade::eval
