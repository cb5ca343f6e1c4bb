// Sampling in f64 over the candidates that survive top-k.
#include "model/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <vector>

#include "base/random.h"

namespace cascade {
namespace {

struct Candidate {
  int32_t token;
  double weight;  // logit, then probability
};

// Without an early end, so that it is done in vectors. (A sum over the row may hide a NaN.)
bool all_finite(std::span<const float> logits) {
  bool finite = true;
  for (const float logit : logits) finite &= std::isfinite(logit);
  return finite;
}

bool more_likely(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
}

void penalise(std::span<float> logits, double penalty, std::span<const int32_t> history) {
  const std::unordered_set<int32_t> seen(history.begin(), history.end());
  for (const int32_t token : seen) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) continue;
    float& logit = logits[token];
    const double penalised = logit > 0 ? logit / penalty : logit * penalty;
    constexpr double kLargest = std::numeric_limits<float>::max();
    logit = static_cast<float>(std::clamp(penalised, -kLargest, kLargest));
  }
}

// The candidates that top-k, top-p and min-p leave, most likely first, with their probabilities.
std::vector<Candidate> candidates(std::span<const float> logits, const SamplerParams& params) {
  std::vector<Candidate> all(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    all[i] = {static_cast<int32_t>(i), static_cast<double>(logits[i])};
  }
  const bool cut = params.top_k > 0 && static_cast<size_t>(params.top_k) < all.size();
  const auto last = cut ? all.begin() + params.top_k : all.end();
  if (cut) std::nth_element(all.begin(), last - 1, all.end(), more_likely);
  all.erase(last, all.end());
  std::sort(all.begin(), all.end(), more_likely);

  const double largest = all.front().weight;
  double total = 0;
  for (Candidate& candidate : all) {
    // The difference first: the quotient of a tiny temperature is infinite, which 0 is not.
    candidate.weight = std::exp((candidate.weight - largest) / params.temperature);
    total += candidate.weight;
  }
  double before = 0;
  size_t kept = 0;
  for (; kept < all.size(); ++kept) {
    all[kept].weight /= total;
    const bool in_nucleus = before < params.top_p;
    const bool likely = all[kept].weight >= params.min_p * all.front().weight;
    if (kept > 0 && !(in_nucleus && likely)) break;
    before += all[kept].weight;
  }
  all.resize(kept);
  return all;
}

}  // namespace

Result<Sampled> sample(std::span<float> logits, const SamplerParams& params,
                       std::span<const int32_t> history, int64_t position, const Kernels& kernels) {
  if (!all_finite(logits)) {
    return data_corrupt("logits", "are not finite: the model's weights are damaged");
  }
  const double normaliser = kernels.log_sum_exp(logits.data(), static_cast<int>(logits.size()));
  const auto chosen = [&](int32_t token, float raw_logit) {
    return Sampled{token, static_cast<float>(static_cast<double>(raw_logit) - normaliser)};
  };
  // A penalty changes logits in place; the reported probability is that of the model itself.
  std::vector<float> raw;
  if (params.repetition_penalty != 1) {
    raw.assign(logits.begin(), logits.end());
    penalise(logits, params.repetition_penalty, history);
  }
  const auto raw_logit = [&](int32_t token) { return raw.empty() ? logits[token] : raw[token]; };
  if (params.temperature == 0) {
    const auto best = std::max_element(logits.begin(), logits.end());  // the first of equals
    const auto token = static_cast<int32_t>(best - logits.begin());
    return chosen(token, raw_logit(token));
  }
  const std::vector<Candidate> left = candidates(logits, params);
  double total = 0;
  for (const Candidate& candidate : left) total += candidate.weight;
  double draw = counter_random_unit(params.seed, static_cast<uint64_t>(position)) * total;
  for (const Candidate& candidate : left) {
    draw -= candidate.weight;
    if (draw < 0) return chosen(candidate.token, raw_logit(candidate.token));
  }
  return chosen(left.back().token, raw_logit(left.back().token));
}

}  // namespace cascade
