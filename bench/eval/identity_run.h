// Runs a case of `cascade-eval identity` in both ways.
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
  // Without `random`, the pages are zero and in the order of memory; else they are shuffled, and
  // each is filled with garbage. Errors: those of PageArena::create.
  static Result<std::unique_ptr<PageHeap>> create(const KvLayout& layout, size_t count,
                                                  Random* random);
  // A page that no sequence has. Precondition: there is one.
  uint8_t* take();

 private:
  explicit PageHeap(PageArena arena) : arena_(std::move(arena)) {}

  PageArena arena_;
  std::vector<PageIndex> free_;  // the last is the next to be taken
  // Separate random numbers, because the size of pages decides how many are drawn.
  std::optional<Random> garbage_;
};

// The residual stream after each layer, as far as it was computed.
struct LayerStates {
  int width = 0;
  int64_t tokens = 0;
  std::vector<std::vector<float>> states;  // [layers][tokens * width]
  std::vector<std::vector<bool>> known;    // [layers][tokens]
};

// The results of one way to compute a case.
struct IdentityRun {
  std::unique_ptr<PageHeap> heap;
  std::vector<uint8_t*> pages;
  std::vector<float> hidden;        // [outputs, hidden_size]
  std::vector<float> logits;        // [outputs, vocab_size]
  std::vector<float> prefix_state;  // of recurrent layers, after the tokens of the prefix
  std::vector<float> state;         // the same after all tokens
  LayerStates layers;               // if they were asked for
  int64_t selected_tokens = 0;      // of the reference: tokens that selected, in some layer
  int sharing_mates = 0;            // mates that used pages of the sequence as their own
};

// One thread; the model must outlive it.
class IdentityRunner {
 public:
  explicit IdentityRunner(const Model& model, const AttentionMode& attention = {})
      : model_(model), attention_(attention) {}

  // Computes the sequence alone, on one thread, in slices of 64. `record`: with the states of
  // layers. Errors: those of PageArena::create.
  Result<IdentityRun> reference(const IdentityCase& drawn, bool record);
  // Computes the sequence as the case says.
  Result<IdentityRun> variant(const IdentityCase& drawn, bool record);

  // Compares K and V of all tokens, the recurrent states after the last one, hidden states and
  // logits of the outputs, and the layers' states that both runs recorded.
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
  const AttentionMode attention_;
  std::map<int, Threads> threads_;  // by the number of threads
};

}  // namespace cascade::eval
