// How far the predictions of one model are from those of another, for each position and for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cascade::eval {

// The figures of one position. Logarithms are natural (nats).
struct Divergence {
  double kl = 0;             // KL(reference || tested) over the whole vocabulary, at least 0
  double nll_reference = 0;  // -log p(next token)
  double nll = 0;
  bool same_top = false;  // both models give the largest logit to the same token (of equal logits,
                          // the lowest id)
  bool finite = false;    // all logits are finite; otherwise the other figures mean nothing
};

// Compares logits over one vocabulary; both spans have its size. `next` is the token that came, an
// id of that vocabulary. Computed in f64.
Divergence divergence_of(std::span<const float> reference, std::span<const float> tested,
                         int32_t next);

struct DivergenceSummary {
  double mean_kl = 0;
  double mean_kl_standard_error = 0;
  double p99_kl = 0;  // the smallest value that 99 % of the positions do not exceed
  double max_kl = 0;
  double top1_agreement = 0;        // share of the positions, 0 to 1
  double perplexity_reference = 0;  // exp(mean nll)
  double perplexity = 0;
  double perplexity_change_percent = 0;
  // The standard error of the paired differences of nll, carried through exp().
  double perplexity_change_standard_error_percent = 0;
};
// Precondition: not empty. Standard errors assume that positions are independent; for a single
// position there is none: NaN.
DivergenceSummary summarize(std::span<const Divergence> positions);

}  // namespace cascade::eval
