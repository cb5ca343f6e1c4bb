// The sampler: which tokens may be drawn and how often, and that nothing else affects the choice.
#include "model/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "tests/long_tests.h"
#include "tests/model/sampler_testing.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::best_kernels;
using testing::Logits;
using testing::random_logits;

Result<Sampled> draw(Logits logits, const SamplerParams& params, int64_t position = 0,
                     const std::vector<int32_t>& history = {}) {
  return sample(logits, params, {{}, history}, position, best_kernels());
}

int32_t token(Logits logits, const SamplerParams& params, int64_t position = 0,
              const std::vector<int32_t>& history = {}) {
  const auto sampled = draw(std::move(logits), params, position, history);
  EXPECT_TRUE(sampled.ok());
  return sampled.ok() ? sampled->token : -1;
}

std::vector<double> softmax(const Logits& logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  for (const float logit : logits) p.push_back(std::exp((logit - largest) / temperature));
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= total;
  return p;
}

// Token ids from the most likely to the least; equal ones by id.
std::vector<int32_t> ranking(const std::vector<double>& p) {
  std::vector<int32_t> ids(p.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return p[a] > p[b]; });
  return ids;
}

// The tokens that may be drawn, by the definitions, with their probabilities: the k most likely; of
// these the fewest whose (renormalised) probabilities reach top_p; of these the ones within min_p
// of the best.
std::map<int32_t, double> allowed(const Logits& logits, const SamplerParams& params) {
  const std::vector<double> p = softmax(logits, params.temperature);
  std::vector<int32_t> ids = ranking(p);
  if (params.top_k > 0) ids.resize(std::min(ids.size(), static_cast<size_t>(params.top_k)));
  double total = 0;
  for (const int32_t id : ids) total += p[id];
  std::map<int32_t, double> kept;
  double before = 0, sum = 0;
  for (const int32_t id : ids) {
    if (before / total >= params.top_p && !kept.empty()) break;
    before += p[id];
    if (p[id] < params.min_p * p[ids.front()]) continue;
    kept[id] = p[id];
    sum += p[id];
  }
  for (auto& [id, probability] : kept) probability /= sum;
  return kept;
}

TEST(Sampler, greedy_takes_the_largest_and_the_first_of_equals) {
  EXPECT_EQ(token({0, 3, -1, 3, 2}, {}), 1);
  EXPECT_EQ(token({5}, {}), 0);
  EXPECT_EQ(token({-7, -7, -7}, {}), 0);
  EXPECT_EQ(token({0.0f, -0.0f}, {}), 0);
  EXPECT_EQ(token({-0.0f, 0.0f}, {}), 0);
}

TEST(Sampler, greedy_ignores_seed_position_and_filters) {
  Random random(testing::test_seed());
  for (int i = 0; i < 200; ++i) {
    const Logits logits = random_logits(random, 1 + random.below(50));
    SamplerParams params;
    const int32_t best = token(logits, params);
    EXPECT_EQ(best, std::max_element(logits.begin(), logits.end()) - logits.begin());
    params.seed = random();
    params.top_k = static_cast<int32_t>(random.below(5));
    params.top_p = 0.3;
    params.min_p = 0.2;
    EXPECT_EQ(token(logits, params, static_cast<int64_t>(random.below(1000))), best);
  }
}

TEST(Sampler, draws_only_what_the_filters_leave) {
  Random random(testing::test_seed());
  for (int round = 0; round < 400; ++round) {
    const Logits logits = random_logits(random, 2 + random.below(60));
    SamplerParams params;
    params.temperature = 0.2 + 2 * random.unit();
    params.top_k = random.below(2) == 0 ? 0 : static_cast<int32_t>(random.below(70));
    params.top_p = random.below(2) == 0 ? 1 : random.unit();
    params.min_p = random.below(2) == 0 ? 0 : random.unit();
    params.seed = random();
    const auto may = allowed(logits, params);
    for (int64_t position = 0; position < 30; ++position) {
      ASSERT_TRUE(may.contains(token(logits, params, position)));
    }
  }
}

TEST(Sampler, single_filters_leave_what_they_say) {
  // Probabilities 0.5, 0.3, 0.15, 0.05.
  const Logits logits = {std::log(0.15f), std::log(0.5f), std::log(0.05f), std::log(0.3f)};
  const auto seen = [&](const SamplerParams& params) {
    std::set<int32_t> tokens;
    for (int64_t position = 0; position < 600; ++position) {
      tokens.insert(token(logits, params, position));
    }
    return tokens;
  };
  using Tokens = std::set<int32_t>;
  EXPECT_EQ(seen({.temperature = 1, .seed = 5}), (Tokens{0, 1, 2, 3}));
  EXPECT_EQ(seen({.temperature = 1, .top_k = 1, .seed = 5}), Tokens{1});
  EXPECT_EQ(seen({.temperature = 1, .top_k = 3, .seed = 5}), (Tokens{0, 1, 3}));
  EXPECT_EQ(seen({.temperature = 1, .top_k = 100, .seed = 5}), (Tokens{0, 1, 2, 3}));
  EXPECT_EQ(seen({.temperature = 1, .top_p = 1e-9, .seed = 5}), Tokens{1});
  EXPECT_EQ(seen({.temperature = 1, .top_p = 0, .seed = 5}), Tokens{1});
  EXPECT_EQ(seen({.temperature = 1, .top_p = 0.49, .seed = 5}), Tokens{1});
  EXPECT_EQ(seen({.temperature = 1, .top_p = 0.51, .seed = 5}), (Tokens{1, 3}));
  EXPECT_EQ(seen({.temperature = 1, .top_p = 0.94, .seed = 5}), (Tokens{0, 1, 3}));
  EXPECT_EQ(seen({.temperature = 1, .min_p = 1, .seed = 5}), Tokens{1});
  EXPECT_EQ(seen({.temperature = 1, .min_p = 0.29, .seed = 5}), (Tokens{0, 1, 3}));
  EXPECT_EQ(seen({.temperature = 1, .min_p = 0.31, .seed = 5}), (Tokens{1, 3}));
  // The temperature comes first: at 0.5 the probabilities are 0.685, 0.247, 0.062, 0.007.
  EXPECT_EQ(seen({.temperature = 0.5, .top_p = 0.68, .seed = 5}), Tokens{1});
  // Top-k comes before top-p: of the two best, the first has a share of 0.625.
  EXPECT_EQ(seen({.temperature = 1, .top_p = 0.62, .top_k = 2, .seed = 5}), Tokens{1});
}

TEST(Sampler, equal_logits_rank_by_id_when_top_k_cuts_among_them) {
  const Logits logits(100, 1.5f);
  SamplerParams params;
  params.temperature = 1;
  params.top_k = 3;
  std::set<int32_t> tokens;
  for (int64_t position = 0; position < 300; ++position) {
    tokens.insert(token(logits, params, position));
  }
  EXPECT_EQ(tokens, (std::set<int32_t>{0, 1, 2}));
}

// Chi-square of draws against the expected shares. The seeds are fixed, so the result is fixed too.
double chi_square(const Logits& logits, const SamplerParams& params, int draws) {
  const auto shares = allowed(logits, params);
  std::map<int32_t, int> counts;
  for (int64_t position = 0; position < draws; ++position)
    ++counts[token(logits, params, position)];
  double sum = 0;
  for (const auto& [id, share] : shares) {
    const double expected = share * draws;
    sum += (counts[id] - expected) * (counts[id] - expected) / expected;
  }
  return sum;
}

TEST(Sampler, draws_have_the_distribution_of_the_softmax) {
  Random random(20260102);
  for (uint64_t seed = 1; seed <= testing::long_or<uint64_t>(6, 2); ++seed) {
    const Logits logits = random_logits(random, 12, 1.5);
    SamplerParams params;
    params.seed = seed;
    params.temperature = 0.5 + 0.3 * static_cast<double>(seed);
    // 11 degrees of freedom: 31.3 is exceeded in one of a thousand runs.
    EXPECT_LT(chi_square(logits, params, 20'000), 31.3) << seed;
    params.top_k = 7;  // 6 degrees of freedom
    EXPECT_LT(chi_square(logits, params, 20'000), 22.5) << seed;
    params.top_p = 0.8;
    params.min_p = 0.1;
    EXPECT_LT(chi_square(logits, params, 20'000), 22.5) << seed;
  }
}

// If p and q are the probabilities before and after a change, the tokens differ with a probability
// of at most 2 d / (1 + d), where d is half of the sum of |p - q|.
TEST(Sampler, logits_that_differ_little_mostly_give_the_same_token) {
  Random random(20261128);
  constexpr int kTokens = 500, kDraws = 2000;
  const Logits before = random_logits(random, kTokens, 2);
  Logits after = before;
  for (float& logit : after) logit += static_cast<float>(0.1 * (random.unit() - 0.5));
  double before_sum = 0, after_sum = 0, distance = 0;
  for (int i = 0; i < kTokens; ++i) {
    before_sum += std::exp(before[i]);
    after_sum += std::exp(after[i]);
  }
  for (int i = 0; i < kTokens; ++i) {
    distance += std::abs(std::exp(before[i]) / before_sum - std::exp(after[i]) / after_sum) / 2;
  }
  int differing = 0;
  SamplerParams params;
  params.temperature = 1;
  for (int i = 0; i < kDraws; ++i) differing += token(before, params, i) != token(after, params, i);
  const double bound = 2 * distance / (1 + distance);
  EXPECT_LT(bound, 0.06);
  EXPECT_LT(differing, bound * kDraws * 1.5);
}

TEST(Sampler, one_seed_draws_independently_at_each_position_and_seeds_differ) {
  const Logits logits(1000, 0.0f);
  SamplerParams params;
  params.temperature = 1;
  std::set<int32_t> of_positions, of_seeds;
  for (int i = 0; i < 100; ++i) {
    params.seed = 7;
    of_positions.insert(token(logits, params, i));
    params.seed = static_cast<uint64_t>(i);
    of_seeds.insert(token(logits, params, 7));
  }
  EXPECT_GT(of_positions.size(), 80u);
  EXPECT_GT(of_seeds.size(), 80u);
}

TEST(Sampler, the_same_arguments_give_the_same_token_and_bits) {
  Random random(testing::test_seed());
  for (int i = 0; i < 100; ++i) {
    const Logits logits = random_logits(random, 300);
    SamplerParams params;
    params.temperature = 0.9;
    params.top_p = 0.9;
    params.repetition_penalty = random.below(2) == 0 ? 1 : 1.3;
    params.seed = random();
    const auto position = static_cast<int64_t>(random.below(5000));
    const std::vector<int32_t> history = {1, 5, 5, 299};
    const auto first = draw(logits, params, position, history);
    for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kNeon}) {
      const auto table = kernels_for(isa);
      if (!table.ok()) continue;
      Logits copy = logits;
      const auto again = sample(copy, params, {{}, history}, position, **table);
      ASSERT_TRUE(first.ok() && again.ok());
      ASSERT_EQ(again->token, first->token);
      ASSERT_EQ(again->logprob, first->logprob);
    }
  }
}

TEST(Sampler, a_penalty_divides_positive_and_multiplies_negative_logits_once) {
  SamplerParams params;
  params.repetition_penalty = 2;
  Logits logits = {4, 1, -1, -3, 0};
  const std::vector<int32_t> prompt = {0, 3}, generated = {0, 4, 0};
  const auto sampled = sample(logits, params, {prompt, generated}, 0, best_kernels());
  ASSERT_TRUE(sampled.ok());
  EXPECT_EQ(logits, (Logits{2, 1, -1, -6, 0}));
  EXPECT_EQ(sampled->token, 0);
  params.repetition_penalty = 5;
  EXPECT_EQ(token({4, 1, -1}, params, 0, {0}), 1);
  params.repetition_penalty = 0.5;  // a reward
  EXPECT_EQ(token({4, 3, -1}, params, 0, {1}), 1);
}

TEST(Sampler, a_penalty_of_one_neither_reads_history_nor_writes_logits) {
  Logits logits = {4, 1, -1};
  const Logits before = logits;
  const std::vector<int32_t> history = {0, 1, 2};
  ASSERT_TRUE(cascade::sample(logits, SamplerParams(), {{}, history}, 0, best_kernels()).ok());
  EXPECT_EQ(logits, before);
}

TEST(Sampler, history_outside_the_vocabulary_is_passed_over) {
  SamplerParams params;
  params.repetition_penalty = 3;
  EXPECT_EQ(token({4, 3}, params, 0, {-1, 2, INT32_MAX, INT32_MIN}), 0);
}

TEST(Sampler, the_log_probability_is_that_of_the_model_whatever_the_parameters) {
  Random random(testing::test_seed());
  for (int i = 0; i < 200; ++i) {
    const Logits logits = random_logits(random, 2 + random.below(2000), 8);
    const std::vector<double> p = softmax(logits, 1);
    SamplerParams params;
    params.temperature = random.below(3) == 0 ? 0 : 3 * random.unit();
    params.top_k = static_cast<int32_t>(random.below(50));
    params.top_p = 0.5 + random.unit() / 2;
    params.repetition_penalty = 0.5 + random.unit();
    params.seed = random();
    const auto sampled = draw(logits, params, i, {0, 1, 2, 3});
    ASSERT_TRUE(sampled.ok());
    ASSERT_NEAR(sampled->logprob, std::log(p[sampled->token]), 1e-5);
  }
}

TEST(Sampler, logits_that_are_not_finite_are_an_error) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Random random(testing::test_seed());
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kNeon}) {
    const auto table = kernels_for(isa);
    if (!table.ok()) continue;
    for (const float bad : {kNan, -kNan, kInf, -kInf}) {
      for (const size_t size : {1, 2, 17, 64, 1000}) {
        for (const double temperature : {0.0, 0.8}) {
          Logits logits = random_logits(random, size);
          logits[random.below(size)] = bad;
          SamplerParams params;
          params.temperature = temperature;
          const auto sampled = sample(logits, params, {}, 0, **table);
          ASSERT_FALSE(sampled.ok()) << bad << " among " << size << ", " << to_string(isa);
          ASSERT_EQ(sampled.error().code, ErrorCode::kDataCorrupt);
          ASSERT_EQ(sampled.error().field, "logits");
        }
        Logits all(size, bad);
        ASSERT_FALSE(cascade::sample(all, SamplerParams(), {}, 0, **table).ok());
      }
    }
  }
}

TEST(Sampler, extreme_parameters_and_logits_give_a_token_of_the_vocabulary) {
  // A temperature near 0 is greedy, even where the quotient is beyond f64.
  const Logits logits = {1, 7, 20, 19, -4};
  for (const double temperature : {1e-3, 1e-30, 1e-300, 1e-308, 5e-324}) {
    SamplerParams params;
    params.temperature = temperature;
    EXPECT_EQ(token(logits, params), 2) << temperature;
    params.min_p = 0.5;
    params.top_p = 0.5;
    EXPECT_EQ(token(logits, params), 2) << temperature;
  }
  Random random(testing::test_seed());
  constexpr float kMax = std::numeric_limits<float>::max();
  for (int i = 0; i < 500; ++i) {
    Logits wild(5);
    for (float& logit : wild) {
      const float size = random.below(3) == 0 ? kMax : 1;
      logit = static_cast<float>(random.unit() * 2 - 1) * size;
    }
    SamplerParams params;
    params.temperature = random.below(2) == 0 ? 100 : 1e-310;
    params.repetition_penalty = random.below(2) == 0 ? 100 : 1e-300;
    params.seed = random();
    const auto sampled = draw(wild, params, i, {0, 2, 4});
    if (!sampled.ok()) continue;  // sums of such logits need not be finite
    ASSERT_TRUE(sampled->token >= 0 && sampled->token < 5);
    ASSERT_FALSE(std::isnan(sampled->logprob));
  }
}

TEST(Sampler, a_penalty_beyond_the_range_of_f32_still_ranks_the_penalised_last) {
  SamplerParams params;
  params.repetition_penalty = 1e-300;
  // Tokens 0 and 1 are rewarded beyond all others; choosing between the two is not undefined
  // either.
  for (const double temperature : {0.0, 1.0}) {
    params.temperature = temperature;
    const int32_t chosen = token({1, 2, 3, -1}, params, 0, {0, 1});
    EXPECT_TRUE(chosen == 0 || chosen == 1);
  }
}

// A bit set with one bit for each token.
std::vector<uint64_t> set_of(const std::vector<int32_t>& tokens, size_t size) {
  std::vector<uint64_t> words((size + 63) / 64);
  for (const int32_t token : tokens) words[token / 64] |= uint64_t{1} << (token % 64);
  return words;
}

TEST(Sampler, chooses_among_allowed_tokens_as_if_the_others_were_impossible) {
  Random random(testing::test_seed());
  for (int i = 0; i < 300; ++i) {
    const Logits logits = random_logits(random, 200);
    std::vector<int32_t> allowed;
    Logits left(200, -1e30F);
    for (int32_t token = 0; token < 200; ++token) {
      if (random.below(i % 3 == 0 ? 100 : 4) != 0 && !(token == 199 && allowed.empty())) continue;
      allowed.push_back(token);
      left[token] = logits[token];
    }
    const std::vector<uint64_t> set = set_of(allowed, 200);
    SamplerParams params;
    if (i % 4 != 0) params.temperature = 0.1 + 2 * random.unit();
    if (i % 5 == 0) params.top_k = 1 + static_cast<int32_t>(random.below(10));
    if (i % 7 == 0) params.top_p = 0.1 + 0.8 * random.unit();
    if (i % 3 == 0) params.min_p = 0.2;
    params.seed = random();
    const int32_t expected = token(left, params, i);
    params.allowed = set;
    const auto sampled = draw(logits, params, i);
    ASSERT_TRUE(sampled.ok());
    EXPECT_EQ(sampled->token, expected);
    // The log probability is the model's own, whatever is allowed.
    const auto p = softmax(logits, 1);
    EXPECT_NEAR(sampled->logprob, std::log(p[expected]), 1e-4);
  }
}

TEST(Sampler, no_bias_or_reward_brings_a_token_back_that_is_not_allowed) {
  const std::vector<uint64_t> set = set_of({3}, 10);
  const std::vector<int32_t> biased = {5};
  const std::vector<float> biases = {100};
  SamplerParams params;
  params.bias_tokens = biased;
  params.biases = biases;
  params.frequency_penalty = -2;
  params.allowed = set;
  for (const double temperature : {0.0, 1.0, 100.0}) {
    params.temperature = temperature;
    EXPECT_EQ(token(Logits(10, 0), params, 0, {5, 5, 5}), 3);
  }
}

}  // namespace
}  // namespace cascade
