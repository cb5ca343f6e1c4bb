// One random case of `cascade-eval identity`: a sequence, and another way to compute it.
#pragma once

#include <cstdint>
#include <vector>

namespace cascade::eval {

struct IdentityLimits {
  int tokens_max = 0;   // of the sequence; at most the model's context
  int threads_max = 0;  // of the variant
  int vocab_size = 0;
  int context_tokens_max = 0;  // for every sequence in the batch
};

// Another sequence in the same forward calls.
struct MatePlan {
  // The mate shares the first pages of the case's sequence, at most those that are full when the
  // mate begins, and continues after them with `ids`.
  bool shares_pages = false;
  bool decodes = false;  // one token per call; otherwise slices
  int start = 0;         // the number of the mate's own tokens that are computed beforehand
  std::vector<int32_t> ids;
};

struct IdentityCase {
  uint64_t seed = 0;
  std::vector<int32_t> ids;
  int outputs = 0;  // the number of last tokens whose final hidden states and logits are compared
  // The variant finds the first `prefix` tokens (0: none; below ids.size()) in the pages of an
  // earlier run of donor_ids, which has the same beginning. Whole pages are shared, a partial one
  // is copied.
  int prefix = 0;
  std::vector<int32_t> donor_ids;
  int donor_slice = 0;
  int donor_threads = 1;
  int slice = 0;  // tokens per call; 0: a different size each time
  int threads = 1;
  std::vector<MatePlan> mates;
};

// Sizes of slices: a decode step, a few tokens, a page, a pass, more than any sequence has.
inline constexpr int kSliceSizes[] = {1, 7, 64, 512, 8192};

// The case of the seed `seed`; equal limits give the same case.
IdentityCase draw_case(uint64_t seed, const IdentityLimits& limits);

// The seeds of the cases of a run: below 2^53, so that every JSON reader keeps them.
uint64_t case_seed(uint64_t seed, uint64_t index);

}  // namespace cascade::eval
