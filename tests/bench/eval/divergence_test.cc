// The figures of `cascade-eval quality`, compared with values worked out by hand.
#include "bench/eval/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace cascade::eval {
namespace {

// Logits of these probabilities, plus a constant, which changes no probability.
std::vector<float> logits_of(const std::vector<double>& probabilities, double shift) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + shift));
  return logits;
}

TEST(Divergence, is_that_of_the_two_distributions) {
  const auto reference = logits_of({0.5, 0.25, 0.25}, 3);
  const auto tested = logits_of({0.25, 0.25, 0.5}, -40);
  const Divergence result = divergence_of(reference, tested, 2);
  // 0.5 ln(0.5/0.25) + 0.25 ln(0.25/0.5)
  EXPECT_NEAR(result.kl, 0.25 * std::log(2.0), 1e-5);
  EXPECT_NEAR(result.nll_reference, std::log(4.0), 1e-5);
  EXPECT_NEAR(result.nll, std::log(2.0), 1e-5);
  EXPECT_FALSE(result.same_top);
  EXPECT_TRUE(result.finite);
}

TEST(Divergence, goes_from_the_reference_to_the_tested) {
  const auto even = logits_of({0.5, 0.5}, 0), skewed = logits_of({0.9, 0.1}, 0);
  const double forward = 0.5 * std::log(0.5 / 0.9) + 0.5 * std::log(0.5 / 0.1);
  const double backward = 0.9 * std::log(0.9 / 0.5) + 0.1 * std::log(0.1 / 0.5);
  EXPECT_NEAR(divergence_of(even, skewed, 0).kl, forward, 1e-6);
  EXPECT_NEAR(divergence_of(skewed, even, 0).kl, backward, 1e-6);
}

TEST(Divergence, of_equal_logits_is_zero_and_never_less) {
  std::vector<float> logits;
  for (int i = 0; i < 1000; ++i) logits.push_back(static_cast<float>(std::sin(i) * 20));
  const Divergence same = divergence_of(logits, logits, 7);
  EXPECT_EQ(same.kl, 0);
  EXPECT_EQ(same.nll, same.nll_reference);
  EXPECT_TRUE(same.same_top);
  std::vector<float> shifted = logits;
  for (float& x : shifted) x += 0.25f;
  EXPECT_GE(divergence_of(logits, shifted, 7).kl, 0);
}

TEST(Divergence, of_logits_far_apart_does_not_overflow) {
  const std::vector<float> reference = {3e4f, -3e4f}, tested = {-3e4f, 3e4f};
  const Divergence result = divergence_of(reference, tested, 0);
  EXPECT_EQ(result.kl, 6e4);
  EXPECT_EQ(result.nll, 6e4);
  EXPECT_EQ(result.nll_reference, 0);
}

TEST(Divergence, says_when_logits_are_not_finite) {
  const std::vector<float> good = {1, 2};
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_FALSE(divergence_of(std::vector<float>{1, bad}, good, 0).finite);
    EXPECT_FALSE(divergence_of(good, std::vector<float>{bad, 1}, 0).finite);
  }
}

Divergence position(double kl, double reference, double tested, bool same_top) {
  return {kl, reference, tested, same_top, true};
}

TEST(DivergenceSummary, has_means_and_their_errors) {
  const std::vector<Divergence> positions = {position(1, 1, 2, true), position(3, 2, 2, false),
                                             position(2, 3, 2, true), position(2, 2, 4, true)};
  const DivergenceSummary summary = summarize(positions);
  EXPECT_DOUBLE_EQ(summary.mean_kl, 2);
  // The sum of squared distances is 1 + 1; it is divided by 3, and then by 4 positions.
  EXPECT_DOUBLE_EQ(summary.mean_kl_standard_error, std::sqrt(2.0 / 3 / 4));
  EXPECT_DOUBLE_EQ(summary.max_kl, 3);
  EXPECT_DOUBLE_EQ(summary.top1_agreement, 0.75);
  EXPECT_DOUBLE_EQ(summary.perplexity_reference, std::exp(2.0));
  EXPECT_DOUBLE_EQ(summary.perplexity, std::exp(2.5));
  EXPECT_NEAR(summary.perplexity_change_percent, 100 * (std::exp(0.5) - 1), 1e-9);
  // The differences are 1, 0, -1, 2: the squared distances from 0.5 sum to 5.
  EXPECT_NEAR(summary.perplexity_change_standard_error_percent,
              100 * std::exp(0.5) * std::sqrt(5.0 / 3 / 4), 1e-9);
}

TEST(DivergenceSummary, p99_is_what_99_percent_do_not_exceed) {
  std::vector<Divergence> positions;
  for (int i = 200; i >= 1; --i) positions.push_back(position(i, 1, 1, true));
  EXPECT_EQ(summarize(positions).p99_kl, 198);
  positions.resize(99);  // 200 down to 102: 99 % of 99 needs all of them
  EXPECT_EQ(summarize(positions).p99_kl, 200);
  positions.resize(1);
  EXPECT_EQ(summarize(positions).p99_kl, 200);
  EXPECT_TRUE(std::isnan(summarize(positions).mean_kl_standard_error));
}

}  // namespace
}  // namespace cascade::eval
