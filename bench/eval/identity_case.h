// One random case of `cascade-eval identity`: a sequence, and another way to compute it.
#pragma once

#include <cstdint>
#include <vector>

namespace cascade::eval {

struct IdentityLimits {
  int tokens_max = 0;   // of the sequence; at most the model's context
  int threads_max = 0;  // of the variant
  int vocab_size = 0;
  int context_tokens_max = 0;  // of anything that is in the batch
};

// Another sequence in the same forward calls.
struct MatePlan {
  // Shares the first pages of the case's sequence, as many as are full when it begins, and goes on
  // behind them with `ids`.
  bool shares_pages = false;
  bool decodes = false;  // one token a call; otherwise slices
  int start = 0;         // so many of its own tokens are computed before
  std::vector<int32_t> ids;
};

struct IdentityCase {
  uint64_t seed = 0;
  std::vector<int32_t> ids;
  int outputs = 0;  // final hidden states and logits of so many last tokens are compared
  // The variant finds the first `prefix` tokens (0: none, below ids.size()) in pages of an earlier
  // run of donor_ids, which begin alike: whole pages shared, a partial one copied.
  int prefix = 0;
  std::vector<int32_t> donor_ids;
  int donor_slice = 0;
  int donor_threads = 1;
  int slice = 0;  // tokens a call; 0: another size each time
  int threads = 1;
  std::vector<MatePlan> mates;
};

// Sizes of slices: a decode step, a few, a page, a pass, more than any sequence.
inline constexpr int kSliceSizes[] = {1, 7, 64, 512, 8192};

// The case that `seed` names; the same for equal limits.
IdentityCase draw_case(uint64_t seed, const IdentityLimits& limits);

// Seeds of the cases of a run: below 2^53, so that every reader of JSON keeps them.
uint64_t case_seed(uint64_t seed, uint64_t index);

}  // namespace cascade::eval
