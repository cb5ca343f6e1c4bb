// Biases, penalties and the most likely tokens, compared with their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "tests/long_tests.h"
#include "tests/model/sampler_testing.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::best_kernels;
using testing::Logits;
using testing::random_logits;

using Ids = std::vector<int32_t>;

constexpr float kFloatMax = std::numeric_limits<float>::max();

Ids random_history(Random& random, size_t count_max, size_t vocab) {
  Ids ids(random.below(count_max + 1));
  for (int32_t& id : ids) id = static_cast<int32_t>(random.below(vocab));
  return ids;
}

double count_of(const Ids& ids, size_t token) {
  return static_cast<double>(std::ranges::count(ids, static_cast<int32_t>(token)));
}

// All inputs of a choice.
struct ChoiceInput {
  Logits logits;
  Ids prompt, generated, bias_tokens;
  std::vector<float> biases;
  SamplerParams params;

  Result<Sampled> sampled(Logits& changed, int64_t position = 0) const {
    changed = logits;
    SamplerParams with_biases = params;
    with_biases.bias_tokens = bias_tokens;
    with_biases.biases = biases;
    return sample(changed, with_biases, {prompt, generated}, position, best_kernels());
  }
};

ChoiceInput random_case(Random& random) {
  ChoiceInput c;
  const size_t vocab = 1 + random.below(60);
  c.logits = random_logits(random, vocab);
  c.prompt = random_history(random, 20, vocab);
  c.generated = random_history(random, 40, vocab);
  for (size_t token = 0; token < vocab; ++token) {
    if (random.below(4) != 0) continue;
    c.bias_tokens.push_back(static_cast<int32_t>(token));
    c.biases.push_back(static_cast<float>(random.unit() * 8 - 4));
  }
  const auto maybe = [&](double otherwise, double value) {
    return random.below(2) == 0 ? otherwise : value;
  };
  c.params.repetition_penalty = maybe(1, 0.5 + random.unit());
  c.params.presence_penalty = maybe(0, 4 * random.unit() - 2);
  c.params.frequency_penalty = maybe(0, 4 * random.unit() - 2);
  c.params.seed = random();
  return c;
}

// The logits after biases and penalties, by the definitions, token by token, in f64.
std::vector<double> changed_logits(const ChoiceInput& c) {
  std::vector<double> result;
  for (size_t token = 0; token < c.logits.size(); ++token) {
    double logit = static_cast<double>(c.logits[token]);
    for (size_t i = 0; i < c.biases.size(); ++i) {
      if (c.bias_tokens[i] == static_cast<int32_t>(token))
        logit += static_cast<double>(c.biases[i]);
    }
    const double generated = count_of(c.generated, token);
    if (generated + count_of(c.prompt, token) > 0) {
      const double r = c.params.repetition_penalty;
      logit = logit > 0 ? logit / r : logit * r;
    }
    logit -= c.params.frequency_penalty * generated;
    if (generated > 0) logit -= c.params.presence_penalty;
    result.push_back(logit);
  }
  return result;
}

double log_softmax(const Logits& logits, int32_t token) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  return static_cast<double>(logits[token]) - std::log(sum);
}

TEST(SamplerPenalties, change_the_logits_as_their_definitions_say) {
  Random random(testing::test_seed());
  for (int round = 0; round < 1000; ++round) {
    const ChoiceInput c = random_case(random);
    const std::vector<double> expected = changed_logits(c);
    Logits changed;
    const auto sampled = c.sampled(changed);
    ASSERT_TRUE(sampled.ok());
    for (size_t i = 0; i < changed.size(); ++i) ASSERT_NEAR(changed[i], expected[i], 1e-4);
    const auto best = std::max_element(changed.begin(), changed.end()) - changed.begin();
    ASSERT_EQ(sampled->token, best);
    ASSERT_NEAR(sampled->logprob, log_softmax(c.logits, sampled->token), 1e-5);
  }
}

TEST(SamplerPenalties, draws_have_the_distribution_of_the_changed_logits) {
  Random random(20260103);  // fixed, so that the result is fixed too
  for (int round = 0; round < testing::long_or(5, 2); ++round) {
    ChoiceInput c = random_case(random);
    c.logits = random_logits(random, 8);
    c.prompt = {1, 2, 2};
    c.generated = {3, 3, 3, 4, 1};
    c.bias_tokens = {0, 3};
    c.biases = {1, 2};
    c.params.temperature = 2;
    std::vector<double> shares;
    for (const double logit : changed_logits(c)) shares.push_back(std::exp(logit / 2));
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::map<size_t, int> counts;
    constexpr int kDraws = 20'000;
    Logits changed;
    for (int i = 0; i < kDraws; ++i) ++counts[static_cast<size_t>(c.sampled(changed, i)->token)];
    double sum = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      const double expected = shares[i] / total * kDraws;
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    EXPECT_LT(sum, 24.3) << round;  // 7 degrees of freedom: exceeded in one of a thousand runs
  }
}

TEST(SamplerPenalties, frequency_and_presence_look_at_generated_tokens_only) {
  ChoiceInput c;
  c.logits = {4, 3, 2, 1};
  c.prompt = {0, 0, 0, 0};
  c.generated = {1, 1, 2};
  c.params.frequency_penalty = 0.5;
  c.params.presence_penalty = 0.25;
  Logits changed;
  ASSERT_TRUE(c.sampled(changed).ok());
  EXPECT_EQ(changed, (Logits{4, 1.75F, 1.25F, 1}));
  c.params.frequency_penalty = -0.5;
  c.params.presence_penalty = 0;
  ASSERT_TRUE(c.sampled(changed).ok());
  EXPECT_EQ(changed, (Logits{4, 4, 2.5F, 1}));
}

TEST(SamplerPenalties, a_bias_comes_before_a_penalty) {
  ChoiceInput c;
  c.logits = {-1, 0};
  c.prompt = {0};
  c.bias_tokens = {0};
  c.biases = {5};
  c.params.repetition_penalty = 2;
  Logits changed;
  ASSERT_TRUE(c.sampled(changed).ok());
  EXPECT_EQ(changed, (Logits{2, 0})) << "(-1 + 5) / 2, not -1 * 2 + 5";
}

TEST(SamplerPenalties, biases_ban_and_force_tokens_and_may_name_none) {
  ChoiceInput c;
  c.logits = {9, 3, 2};
  c.bias_tokens = {0, 2, -1, 3, INT32_MAX};
  c.biases = {-100, 100, 100, 100, 100};
  c.params.temperature = 1;
  Logits changed;
  for (int64_t position = 0; position < 200; ++position) {
    const auto sampled = c.sampled(changed, position);
    ASSERT_TRUE(sampled.ok());
    ASSERT_EQ(sampled->token, 2);
    ASSERT_NEAR(sampled->logprob, log_softmax(c.logits, 2), 1e-5);
  }
}

TEST(SamplerPenalties, of_nothing_leave_logits_and_choice_alone) {
  Random random(testing::test_seed());
  for (int round = 0; round < 200; ++round) {
    ChoiceInput c = random_case(random);
    c.params.repetition_penalty = 1;
    c.params.presence_penalty = c.params.frequency_penalty = 0;
    c.params.temperature = random.unit();
    c.bias_tokens.clear();
    c.biases.clear();
    Logits changed;
    const auto with = c.sampled(changed, round);
    EXPECT_EQ(changed, c.logits);
    c.prompt.clear();
    c.generated.clear();
    c.params.top_logprobs = 7;  // reporting them does not change the choice
    const auto without = c.sampled(changed, round);
    ASSERT_TRUE(with.ok() && without.ok());
    EXPECT_EQ(with->token, without->token);
    EXPECT_EQ(with->logprob, without->logprob);
  }
}

TEST(SamplerPenalties, beyond_the_range_of_f32_stay_finite) {
  ChoiceInput c;
  c.logits = {kFloatMax / 4, -kFloatMax / 4, 1, 2};
  c.prompt = {0, 1};
  c.generated = {0, 1, 2};
  c.bias_tokens = {0, 1};
  c.biases = {100, -100};
  for (const double repetition : {1e-300, 100.0}) {
    for (const double other : {-2.0, 2.0}) {
      c.params.repetition_penalty = repetition;
      c.params.presence_penalty = c.params.frequency_penalty = other;
      Logits changed;
      ASSERT_TRUE(c.sampled(changed).ok());
      for (const float logit : changed) EXPECT_TRUE(std::isfinite(logit));
    }
  }
}

TEST(SamplerTop, are_the_most_likely_of_the_raw_logits_in_order) {
  Random random(testing::test_seed());
  for (int round = 0; round < 500; ++round) {
    ChoiceInput c = random_case(random);
    for (float& logit : c.logits) {
      if (random.below(3) == 0) logit = std::round(logit);  // equal logits rank by id
    }
    c.params.top_logprobs = static_cast<int32_t>(random.below(21));
    c.params.temperature = random.below(2) == 0 ? 0 : 1;
    Ids ranking(c.logits.size());
    std::iota(ranking.begin(), ranking.end(), 0);
    std::ranges::stable_sort(ranking,
                             [&](int32_t a, int32_t b) { return c.logits[a] > c.logits[b]; });
    ranking.resize(std::min<size_t>(ranking.size(), static_cast<size_t>(c.params.top_logprobs)));
    Logits changed;
    const auto sampled = c.sampled(changed);
    ASSERT_TRUE(sampled.ok());
    ASSERT_EQ(sampled->top_tokens, ranking);
    ASSERT_EQ(sampled->top_logprobs.size(), ranking.size());
    for (size_t i = 0; i < ranking.size(); ++i) {
      ASSERT_NEAR(sampled->top_logprobs[i], log_softmax(c.logits, ranking[i]), 1e-5);
      // Its log probability equals that of the sampled token to the bit.
      if (ranking[i] != sampled->token) continue;
      ASSERT_EQ(sampled->top_logprobs[i], sampled->logprob);
    }
  }
}

TEST(TokenHistory, counts_what_was_generated_and_knows_the_prompt) {
  TokenHistory history(Ids{1, 1, 2}, Ids{2, 3});
  history.add_generated(3);
  history.add_generated(4);
  const std::map<int32_t, int32_t> counts(history.tokens().begin(), history.tokens().end());
  EXPECT_EQ(counts, (std::map<int32_t, int32_t>{{1, 0}, {2, 1}, {3, 2}, {4, 1}}));
}

}  // namespace
}  // namespace cascade
