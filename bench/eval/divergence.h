// How far the predictions of one model are from those of another, position by position and in all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cascade::eval {

// What one position says. Logarithms are natural: nats.
struct Divergence {
  double kl = 0;             // KL(reference || tested) over the whole vocabulary, at least 0
  double nll_reference = 0;  // -log p(next token)
  double nll = 0;
  bool same_top = false;  // both give the same token the largest logit (the lowest id of equals)
  bool finite = false;    // all logits are finite; otherwise the rest means nothing
};

// Logits of the same size over one vocabulary; next: the token that came, below that size. In f64.
Divergence divergence_of(std::span<const float> reference, std::span<const float> tested,
                         int32_t next);

struct DivergenceSummary {
  double mean_kl = 0;
  double mean_kl_standard_error = 0;
  double p99_kl = 0;  // the least that 99 % of the positions do not exceed
  double max_kl = 0;
  double top1_agreement = 0;        // share of positions, 0 to 1
  double perplexity_reference = 0;  // exp(mean nll)
  double perplexity = 0;
  double perplexity_change_percent = 0;
  // Of the paired differences of nll, carried through exp().
  double perplexity_change_standard_error_percent = 0;
};
// Precondition: not empty. Standard errors take positions for independent; of one position there is
// none: NaN.
DivergenceSummary summarize(std::span<const Divergence> positions);

}  // namespace cascade::eval
