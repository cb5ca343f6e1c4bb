// How much attention adds to the cost of later tokens, computed from the shape of a model.
#include "actors/scheduler/attention_growth.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

ModelConfig shape() {
  ModelConfig config;
  config.layers = 2;
  config.hidden_size = 8;
  config.intermediate_size = 16;
  config.query_heads = 2;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.window = {0, 0};
  return config;
}

TEST(AttentionGrowth, is_the_part_of_one_position_in_the_multiplications_of_a_token) {
  // There are 16 multiplications of queries with keys and of probabilities with values, and (8 + 4
  // + 4 + 8 + 48) * 8 multiplications with weights.
  EXPECT_DOUBLE_EQ(attention_growth(shape()), 16.0 / 576);
}

TEST(AttentionGrowth, leaves_out_layers_with_a_window) {
  ModelConfig config = shape();
  config.window = {128, 0};
  EXPECT_DOUBLE_EQ(attention_growth(config), 8.0 / 576);
}

TEST(AttentionGrowth, counts_the_experts_that_a_token_uses) {
  ModelConfig config = shape();
  config.mixture = {.layers = {false, true},
                    .experts = 8,
                    .chosen = 2,
                    .intermediate_size = 8,
                    .shared_intermediate_size = 16};
  // 16 channels in the first layer, twice 8 and 16 in the second.
  EXPECT_DOUBLE_EQ(attention_growth(config), 32.0 / (8 * (2 * 24 + 3 * 48)));
}

TEST(AttentionGrowth, of_a_model_without_layers_is_zero) {
  EXPECT_EQ(attention_growth(ModelConfig()), 0);
}

}  // namespace
}  // namespace cascade
