// Which experts a router's logits choose, and with which weights.
#include "model/expert_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

MixtureConfig mixture_of(int experts, int chosen, RouterScore score = RouterScore::kSoftmax) {
  MixtureConfig mixture;
  mixture.experts = experts;
  mixture.chosen = chosen;
  mixture.score = score;
  return mixture;
}

std::vector<ChosenExpert> choose(const MixtureConfig& mixture, const std::vector<float>& logits,
                                 const std::vector<float>& bias = {}) {
  std::vector<ChosenExpert> chosen(static_cast<size_t>(mixture.chosen));
  ExpertChoice(mixture).choose(logits.data(), bias.empty() ? nullptr : bias.data(), chosen.data());
  return chosen;
}

std::vector<int> experts_of(const std::vector<ChosenExpert>& chosen) {
  std::vector<int> experts;
  for (const ChosenExpert& choice : chosen) experts.push_back(choice.expert);
  return experts;
}

using Experts = std::vector<int>;

TEST(ExpertChoice, takes_the_largest_scores_in_the_order_of_the_experts) {
  const auto chosen = choose(mixture_of(5, 3), {0.1f, 3, -1, 2, 1});
  EXPECT_EQ(experts_of(chosen), (Experts{1, 3, 4}));
  const double sum = std::exp(0.1) + std::exp(3) + std::exp(-1) + std::exp(2) + std::exp(1);
  EXPECT_NEAR(chosen[0].weight, std::exp(3) / sum, 1e-6);
  EXPECT_NEAR(chosen[1].weight, std::exp(2) / sum, 1e-6);
  EXPECT_NEAR(chosen[2].weight, std::exp(1) / sum, 1e-6);
}

TEST(ExpertChoice, of_equal_scores_the_first_is_chosen) {
  EXPECT_EQ(experts_of(choose(mixture_of(6, 2), {1, 2, 1, 2, 2, 0})), (Experts{1, 3}));
  EXPECT_EQ(experts_of(choose(mixture_of(4, 4), {0, 0, 0, 0})), (Experts{0, 1, 2, 3}));
}

TEST(ExpertChoice, weights_can_be_normalised_and_scaled) {
  MixtureConfig mixture = mixture_of(4, 2);
  mixture.normalizes = true;
  mixture.scale = 2.5f;
  const auto chosen = choose(mixture, {1, 5, 2, 4});
  EXPECT_EQ(experts_of(chosen), (Experts{1, 3}));
  EXPECT_NEAR(chosen[0].weight, 2.5 / (1 + std::exp(-1)), 1e-6);
  EXPECT_NEAR(chosen[0].weight + chosen[1].weight, 2.5, 1e-6);
}

TEST(ExpertChoice, a_number_may_be_added_to_the_sum_that_divides_weights) {
  MixtureConfig mixture = mixture_of(4, 2, RouterScore::kSigmoid);
  mixture.normalizes = true;
  mixture.sum_offset = 0.5f;
  mixture.scale = 2;
  const auto chosen = choose(mixture, {2, 1, 0, -1});
  const double first = 1 / (1 + std::exp(-2.0)), second = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(chosen[0].weight, 2 * first / (first + second + 0.5), 1e-6);
  EXPECT_NEAR(chosen[1].weight, 2 * second / (first + second + 0.5), 1e-6);
  mixture.normalizes = false;
  EXPECT_NEAR(choose(mixture, {2, 1, 0, -1})[0].weight, 2 * first, 1e-6) << "there is no sum";
}

// Without that number, each of these weights would be a half.
TEST(ExpertChoice, scores_near_0_have_weights_near_0_if_something_is_added_to_their_sum) {
  MixtureConfig mixture = mixture_of(4, 2, RouterScore::kSigmoid);
  mixture.normalizes = true;
  mixture.sum_offset = 1e-6f;
  const float infinity = std::numeric_limits<float>::infinity();
  const auto chosen = choose(mixture, std::vector<float>(4, -infinity));
  EXPECT_EQ(experts_of(chosen), (Experts{0, 1}));
  EXPECT_LT(chosen[0].weight, 1e-20);
  EXPECT_LT(chosen[1].weight, 1e-20);
  // Where scores are large, it is less than the last bit.
  const auto large = choose(mixture, {20, 20, 0, 0});
  EXPECT_NEAR(large[0].weight, 0.5, 1e-6);
}

TEST(ExpertChoice, a_bias_changes_the_choice_but_no_weight) {
  const MixtureConfig mixture = mixture_of(4, 2, RouterScore::kSigmoid);
  const auto chosen = choose(mixture, {2, 1, 0, -1}, {-1, 0, 0, 1});
  EXPECT_EQ(experts_of(chosen), (Experts{1, 3}));
  EXPECT_NEAR(chosen[0].weight, 1 / (1 + std::exp(-1)), 1e-6);
  EXPECT_NEAR(chosen[1].weight, 1 / (1 + std::exp(1)), 1e-6);
}

TEST(ExpertChoice, groups_with_the_best_two_experts_come_first) {
  MixtureConfig mixture = mixture_of(9, 3, RouterScore::kSigmoid);
  mixture.groups = 3;
  // The largest score is in the group whose two best are worst.
  const std::vector<float> logits = {3, -9, -9, 1, 0.9f, 0.8f, 0, 1.2f, 0.1f};
  mixture.chosen_groups = 1;
  EXPECT_EQ(experts_of(choose(mixture, logits)), (Experts{3, 4, 5}));
  mixture.chosen_groups = 2;
  EXPECT_EQ(experts_of(choose(mixture, logits)), (Experts{3, 4, 7}));
  mixture.chosen_groups = 3;
  EXPECT_EQ(experts_of(choose(mixture, logits)), (Experts{0, 3, 7}));
  // Biases count, too.
  mixture.chosen_groups = 1;
  EXPECT_EQ(experts_of(choose(mixture, logits, {0, 2, 0, 0, 0, 0, 0, 0, 0})), (Experts{0, 1, 2}));
}

TEST(ExpertChoice, agrees_with_a_full_sort) {
  Random random(test_seed());
  for (int round = 0; round < 200; ++round) {
    const int experts = 1 + static_cast<int>(random.below(40));
    const int count = 1 + static_cast<int>(random.below(static_cast<uint64_t>(experts)));
    std::vector<float> logits(static_cast<size_t>(experts));
    for (float& logit : logits) logit = static_cast<float>(random.below(9)) - 4;
    std::vector<int> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(),
                             [&](int expert) { return logits[static_cast<size_t>(expert)]; });
    order.resize(static_cast<size_t>(count));
    std::ranges::sort(order);
    for (const RouterScore score : {RouterScore::kSoftmax, RouterScore::kSigmoid}) {
      ASSERT_EQ(experts_of(choose(mixture_of(experts, count, score), logits)), order);
    }
  }
}

TEST(ExpertChoice, does_not_depend_on_earlier_tokens) {
  MixtureConfig mixture = mixture_of(8, 2, RouterScore::kSigmoid);
  mixture.groups = 4;
  mixture.chosen_groups = 2;
  ExpertChoice choice(mixture);
  const std::vector<float> first = {5, 4, 3, 2, 1, 0, -1, -2}, second = {0, 1, 0, 1, 0, 1, 2, 1};
  std::vector<ChosenExpert> chosen(2);
  choice.choose(first.data(), nullptr, chosen.data());
  choice.choose(second.data(), nullptr, chosen.data());
  EXPECT_EQ(chosen, choose(mixture, second));
}

TEST(ExpertChoice, weights_are_numbers_only_if_the_scores_are) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool normalizes : {false, true}) {
    for (const RouterScore score : {RouterScore::kSoftmax, RouterScore::kSigmoid}) {
      MixtureConfig mixture = mixture_of(4, 2, score);
      mixture.normalizes = normalizes;
      const auto are_numbers = [&](float logit) {
        const auto chosen = choose(mixture, {1, 2, logit, 0});
        EXPECT_EQ(std::isnan(chosen[0].weight), std::isnan(chosen[1].weight));
        return !std::isnan(chosen[0].weight);
      };
      EXPECT_FALSE(are_numbers(nan));
      EXPECT_EQ(are_numbers(infinity), score == RouterScore::kSigmoid);
      EXPECT_TRUE(are_numbers(-infinity));
      EXPECT_TRUE(are_numbers(3e38f));
    }
  }
}

TEST(ExpertChoice, the_sigmoid_of_a_gate_is_nan_for_nan_only) {
  EXPECT_EQ(router_sigmoid(0), 0.5f);
  EXPECT_NEAR(router_sigmoid(-2), 1 / (1 + std::exp(2.0)), 1e-7);
  EXPECT_EQ(router_sigmoid(std::numeric_limits<float>::infinity()), 1);
  EXPECT_TRUE(std::isnan(router_sigmoid(std::numeric_limits<float>::quiet_NaN())));
}

TEST(ExpertChoice, numbers_that_are_not_finite_give_experts_that_exist) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const RouterScore score : {RouterScore::kSoftmax, RouterScore::kSigmoid}) {
    MixtureConfig mixture = mixture_of(6, 3, score);
    mixture.groups = 3;
    mixture.chosen_groups = 2;
    for (const float bad : {infinity, -infinity, nan}) {
      for (const std::vector<float>& logits :
           {std::vector<float>{bad, bad, bad, bad, bad, bad}, {0, bad, 1, bad, 2, 3}}) {
        const auto chosen = choose(mixture, logits);
        for (size_t i = 0; i < chosen.size(); ++i) {
          EXPECT_GE(chosen[i].expert, i == 0 ? 0 : chosen[i - 1].expert + 1);
          EXPECT_LT(chosen[i].expert, 6);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cascade::testing
