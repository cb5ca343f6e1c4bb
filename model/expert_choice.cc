// Plain loops: a router has some hundred experts, which is little beside what they compute.
#include "model/expert_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "kernels/exp.h"

namespace cascade {
namespace {

// Is never chosen as long as there is something else.
constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

float router_sigmoid(float logit) {
  return std::isnan(logit) ? logit : 1.0f / (1.0f + exp_reference(0.0f - logit));
}

ExpertChoice::ExpertChoice(const MixtureConfig& mixture)
    : mixture_(mixture),
      scores_(static_cast<size_t>(mixture.experts)),
      biased_(scores_.size()),
      order_(scores_.size()) {
  CHECK(mixture.chosen >= 1 && mixture.chosen <= mixture.experts);
}

void ExpertChoice::score(const float* logits) {
  const size_t experts = scores_.size();
  if (mixture_.score == RouterScore::kSigmoid) {
    std::transform(logits, logits + experts, scores_.begin(), router_sigmoid);
    return;
  }
  const float largest = *std::max_element(logits, logits + experts);
  float sum = 0;
  for (size_t i = 0; i < experts; ++i) {
    scores_[i] = exp_reference(logits[i] - largest);
    sum += scores_[i];
  }
  for (float& score : scores_) score /= sum;
}

// Whether the scores of these logits are numbers. The scores themselves do not show it: the
// exponential of the kernels gives a number for everything, also for infinity less infinity.
bool ExpertChoice::is_defined(const float* logits) const {
  const bool has_limit = mixture_.score == RouterScore::kSoftmax;
  return std::all_of(logits, logits + scores_.size(), [&](float logit) {
    return !std::isnan(logit) && !(has_limit && logit == INFINITY);
  });
}

void ExpertChoice::drop_groups() {
  const auto groups = static_cast<size_t>(mixture_.groups);
  const size_t size = biased_.size() / groups;
  std::vector<float> of_group(groups);
  for (size_t group = 0; group < groups; ++group) {
    float best = kNever, second = kNever;
    for (size_t i = group * size; i < (group + 1) * size; ++i) {
      second = std::max(second, std::min(best, biased_[i]));
      best = std::max(best, biased_[i]);
    }
    of_group[group] = best + second;
  }
  std::vector<int32_t> order(groups);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](int32_t group) { return of_group[group]; });
  for (size_t rank = static_cast<size_t>(mixture_.chosen_groups); rank < groups; ++rank) {
    std::fill_n(biased_.begin() + static_cast<ptrdiff_t>(order[rank] * size), size, kNever);
  }
}

void ExpertChoice::choose(const float* logits, const float* bias, ChosenExpert* out) {
  score(logits);
  for (size_t i = 0; i < scores_.size(); ++i) {
    biased_[i] = bias == nullptr ? scores_[i] : scores_[i] + bias[i];
    // Sorting needs numbers.
    if (std::isnan(biased_[i])) biased_[i] = kNever;
  }
  if (mixture_.groups > 1) drop_groups();
  std::iota(order_.begin(), order_.end(), 0);
  const auto chosen = order_.begin() + mixture_.chosen;
  const auto comes_first = [&](int32_t a, int32_t b) {
    return biased_[a] > biased_[b] || (biased_[a] == biased_[b] && a < b);
  };
  std::partial_sort(order_.begin(), chosen, order_.end(), comes_first);
  std::sort(order_.begin(), chosen);
  float sum = 0;
  for (int i = 0; i < mixture_.chosen; ++i) sum += scores_[order_[i]];
  sum += mixture_.sum_offset;
  float factor = mixture_.normalizes ? mixture_.scale / sum : mixture_.scale;
  if (!is_defined(logits)) factor = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < mixture_.chosen; ++i) {
    out[i] = {order_[i], scores_[order_[i]] * factor};
  }
}

}  // namespace cascade
