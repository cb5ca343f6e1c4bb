// Sampling in f64 over the candidates that survive top-k.
#include "model/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/number_types.h"
#include "base/random.h"

namespace cascade {
namespace {

struct Candidate {
  int32_t token;
  double weight;  // logit, then probability
};

bool more_likely(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
}

// Clamps to finite values: an infinite logit would make the probabilities of others undefined.
float as_logit(double value) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kLargest, kLargest));
}

bool is_token(int32_t token, std::span<const float> logits) {
  return token >= 0 && static_cast<size_t>(token) < logits.size();
}

void add_biases(std::span<float> logits, const SamplerParams& params) {
  for (size_t i = 0; i < params.bias_tokens.size(); ++i) {
    const int32_t token = params.bias_tokens[i];
    if (!is_token(token, logits)) continue;
    logits[token] = as_logit(static_cast<double>(logits[token]) + params.biases[i]);
  }
}

void penalise(std::span<float> logits, const SamplerParams& params, const TokenHistory& history) {
  for (const auto& [token, generated] : history.tokens()) {
    if (!is_token(token, logits)) continue;
    const double logit = logits[token];
    const double repeated =
        logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    const double presence = generated > 0 ? params.presence_penalty : 0;
    // Clamp first: subtracting the other penalties would not change an infinite logit.
    logits[token] = as_logit(as_logit(repeated) - params.frequency_penalty * generated - presence);
  }
}

// The `count` most likely tokens with their logits, most likely first.
std::vector<Candidate> most_likely(std::span<const float> logits, size_t count) {
  std::vector<Candidate> heap;  // its front is the least likely
  if (count == 0) return heap;
  for (size_t i = 0; i < logits.size(); ++i) {
    const Candidate next = {static_cast<int32_t>(i), static_cast<double>(logits[i])};
    if (heap.size() == count) {
      if (!more_likely(next, heap.front())) continue;
      std::pop_heap(heap.begin(), heap.end(), more_likely);
      heap.pop_back();
    }
    heap.push_back(next);
    std::push_heap(heap.begin(), heap.end(), more_likely);
  }
  std::sort_heap(heap.begin(), heap.end(), more_likely);
  return heap;
}

// Calls `take(i)` for each allowed token, in order.
template <class Take>
void for_each_allowed(std::span<const float> logits, const SamplerParams& params,
                      const Take& take) {
  if (params.allowed.empty()) {
    for (size_t i = 0; i < logits.size(); ++i) take(i);
    return;
  }
  CHECK(params.allowed.size() * 64 >= logits.size());
  for (size_t i = 0; i < logits.size(); i += 64) {
    for (uint64_t word = params.allowed[i / 64]; word != 0; word &= word - 1) {
      const size_t token = i + static_cast<size_t>(std::countr_zero(word));
      if (token < logits.size()) take(token);
    }
  }
}

// The candidates that top-k, top-p and min-p leave, most likely first, with their probabilities.
std::vector<Candidate> candidates(std::span<const float> logits, const SamplerParams& params) {
  std::vector<Candidate> all;
  all.reserve(params.allowed.empty() ? logits.size() : 0);
  for_each_allowed(logits, params, [&](size_t i) {
    all.push_back({static_cast<int32_t>(i), static_cast<double>(logits[i])});
  });
  CHECK(!all.empty());
  const bool cut = params.top_k > 0 && static_cast<size_t>(params.top_k) < all.size();
  const auto last = cut ? all.begin() + params.top_k : all.end();
  if (cut) std::nth_element(all.begin(), last - 1, all.end(), more_likely);
  all.erase(last, all.end());
  std::sort(all.begin(), all.end(), more_likely);

  const double largest = all.front().weight;
  double total = 0;
  for (Candidate& candidate : all) {
    // Subtract before dividing: a tiny temperature can make a quotient infinite, but a difference
    // of 0 stays 0.
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

// The most likely allowed token; the first of equals.
int32_t most_likely_allowed(std::span<const float> logits, const SamplerParams& params) {
  if (params.allowed.empty()) {
    const auto best = std::max_element(logits.begin(), logits.end());
    return static_cast<int32_t>(best - logits.begin());
  }
  int32_t best = -1;
  for_each_allowed(logits, params, [&](size_t i) {
    if (best < 0 || logits[i] > logits[static_cast<size_t>(best)]) best = static_cast<int32_t>(i);
  });
  CHECK(best >= 0);
  return best;
}

// Chooses a token by logits to which biases and penalties have been applied.
int32_t choose(std::span<const float> logits, const SamplerParams& params, int64_t position) {
  if (params.temperature == 0) return most_likely_allowed(logits, params);
  // The winner of an exponential race has the distribution of the weights. Each token has a random
  // number of its own, so logits that differ little mostly choose the same token, whatever the
  // order of the others: a draft is right more often. The Gumbel-max trick (Maddison et al. 2014)
  // is the same in logarithms.
  const uint64_t seed = counter_random(params.seed, static_cast<uint64_t>(position));
  int32_t winner = -1;
  double first = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates(logits, params)) {
    const double unit = counter_random_unit(seed, static_cast<uint64_t>(candidate.token));
    // The logarithm is at least as large as the number: most tokens need none.
    if (winner >= 0 && unit >= first * candidate.weight) continue;
    const double time = -std::log1p(-unit) / candidate.weight;
    if (winner >= 0 && !(time < first)) continue;
    winner = candidate.token;
    first = time;
  }
  return winner;
}

}  // namespace

Result<Sampled> sample(std::span<float> logits, const SamplerParams& params,
                       const TokenHistory& history, int64_t position, const Kernels& kernels) {
  if (!all_finite(logits)) {
    return data_corrupt("logits", "are not finite: the model's weights are damaged");
  }
  const double normaliser = kernels.log_sum_exp(logits.data(), static_cast<int>(logits.size()));
  Sampled sampled;
  for (const Candidate& top : most_likely(logits, static_cast<size_t>(params.top_logprobs))) {
    sampled.top_tokens.push_back(top.token);
    sampled.top_logprobs.push_back(static_cast<float>(top.weight - normaliser));
  }
  // Biases and penalties change logits in place; the reported probability is the model's own.
  std::vector<float> raw;
  if (!params.bias_tokens.empty() || params.penalises()) {
    raw.assign(logits.begin(), logits.end());
    add_biases(logits, params);
    if (params.penalises()) penalise(logits, params, history);
  }
  sampled.token = choose(logits, params, position);
  const float raw_logit = raw.empty() ? logits[sampled.token] : raw[sampled.token];
  sampled.logprob = static_cast<float>(static_cast<double>(raw_logit) - normaliser);
  return sampled;
}

}  // namespace cascade
