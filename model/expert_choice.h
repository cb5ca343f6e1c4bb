// The choice of a token's experts from the logits of a router.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace cascade {

// An expert of a token, and the factor of what it computes.
struct ChosenExpert {
  int32_t expert;
  float weight;
  bool operator==(const ChosenExpert&) const = default;
};

// 1 / (1 + exp(-logit)), with the exponential of the kernels; NaN for NaN.
float router_sigmoid(float logit);

// Chooses experts, one token after another. The result depends on the token's logits alone: all
// arithmetic is in one order, with the exponential of the kernels. One thread.
class ExpertChoice {
 public:
  // `mixture` must outlive this.
  explicit ExpertChoice(const MixtureConfig& mixture);

  // Writes the mixture.chosen experts with the largest scores to `out`, in the order of their
  // numbers; of equal scores, the first. logits: [experts]. bias: [experts], added to the scores
  // for the choice; nullptr: none.
  //
  // Scores are softmax(logits) or sigmoid(logits). With groups, only experts of the groups whose
  // two best biased scores have the largest sums are chosen (DeepSeek-V3, 2024, section 2.1.2).
  // A weight is the expert's score without bias, divided by the sum of the chosen ones if
  // mixture.normalizes, times mixture.scale. With a NaN among the logits, or infinity in a softmax,
  // the weights are NaN.
  void choose(const float* logits, const float* bias, ChosenExpert* out);

 private:
  void score(const float* logits);
  bool is_defined(const float* logits) const;
  void drop_groups();

  const MixtureConfig& mixture_;
  std::vector<float> scores_;  // [experts]
  std::vector<float> biased_;  // [experts]: what the choice compares
  std::vector<int32_t> order_;
};

}  // namespace cascade
