// What config.json says about mixtures of experts.
#include "model/config_mixture.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/model/config_testing.h"

namespace cascade::testing {
namespace {

Json mixture_config(const char* model_type) {
  Json config = minimal_config(model_type);
  add_experts(config);
  return config;
}

using Layers = std::vector<bool>;

TEST(MixtureConfig, of_qwen_has_softmax_scores_and_may_have_dense_layers) {
  Json config = with(mixture_config("qwen3_moe"), "num_hidden_layers", 4);
  MixtureConfig expected = {
      .layers = {true, true, true, true}, .experts = 8, .chosen = 2, .intermediate_size = 24};
  EXPECT_EQ(parsed_config(config).mixture, expected);
  config["norm_topk_prob"] = true;
  config["decoder_sparse_step"] = 2;
  expected.normalizes = true;
  expected.layers = {false, true, false, true};
  EXPECT_EQ(parsed_config(config).mixture, expected);
  config["mlp_only_layers"] = {3};
  expected.layers = {false, true, false, false};
  EXPECT_EQ(parsed_config(config).mixture, expected);
}

TEST(MixtureConfig, the_number_of_experts_has_two_names_that_must_agree) {
  Json config = mixture_config("qwen3_moe");
  config["num_experts"] = 8;
  EXPECT_EQ(parsed_config(config).mixture.experts, 8);
  expect_invalid_config(with(config, "num_experts", 9), "num_experts", "num_local_experts is 8");
  config.erase("num_local_experts");
  EXPECT_EQ(parsed_config(config).mixture.experts, 8);
  config.erase("num_experts");
  expect_invalid_config(config, "num_experts", "is missing");
}

TEST(MixtureConfig, of_mixtral_normalises_and_has_experts_of_the_usual_size) {
  const Json config = mixture_config("mixtral");
  const ModelConfig parsed = parsed_config(config);
  EXPECT_EQ(parsed.mixture.intermediate_size, parsed.intermediate_size);
  EXPECT_TRUE(parsed.mixture.normalizes);
  EXPECT_EQ(parsed.mixture.names, ExpertNames::kBlockSparse);
  EXPECT_EQ(parsed.mixture.layers, Layers(static_cast<size_t>(parsed.layers), true));
}

TEST(MixtureConfig, of_glm_has_sigmoid_scores_groups_and_shared_experts) {
  Json config = with(mixture_config("glm4_moe"), "num_hidden_layers", 3);
  MixtureConfig expected = {.layers = {false, true, true},
                            .experts = 8,
                            .chosen = 2,
                            .intermediate_size = 24,
                            .shared_intermediate_size = 24,
                            .score = RouterScore::kSigmoid,
                            .choice_bias = true,
                            .normalizes = true};
  EXPECT_EQ(parsed_config(config).mixture, expected);
  EXPECT_EQ(parsed_config(config).rope.rotary_share, 0.5);
  EXPECT_EQ(parsed_config(config).qk_norm, QkNorm::kNone);
  EXPECT_EQ(parsed_config(config).draft_layers, 1);
  config["n_shared_experts"] = 2;
  config["first_k_dense_replace"] = 2;
  config["n_group"] = 4;
  config["topk_group"] = 2;
  config["norm_topk_prob"] = false;
  config["routed_scaling_factor"] = 2.5;
  config["num_nextn_predict_layers"] = 0;
  config["use_qk_norm"] = true;
  config["partial_rotary_factor"] = 1.0;
  expected.layers = {false, false, true};
  expected.shared_intermediate_size = 48;
  expected.groups = 4;
  expected.chosen_groups = 2;
  expected.normalizes = false;
  expected.scale = 2.5f;
  EXPECT_EQ(parsed_config(config).mixture, expected);
  EXPECT_EQ(parsed_config(config).rope.rotary_share, 1);
  EXPECT_EQ(parsed_config(config).qk_norm, QkNorm::kHead);
  EXPECT_EQ(parsed_config(config).draft_layers, 0);
  config["n_shared_experts"] = 0;
  EXPECT_EQ(parsed_config(config).mixture.shared_intermediate_size, 0);
}

TEST(MixtureConfig, of_glm_has_biases_of_queries_keys_and_values_only) {
  const ModelConfig config =
      parsed_config(with(mixture_config("glm4_moe"), "attention_bias", true));
  EXPECT_TRUE(config.qkv_bias);
  EXPECT_FALSE(config.output_bias);
}

TEST(MixtureConfig, a_layer_uses_the_channels_of_the_chosen_experts) {
  Json json = with(mixture_config("glm4_moe"), "num_hidden_layers", 2);
  const ModelConfig config = parsed_config(json);
  EXPECT_EQ(config.used_intermediate_size(0), config.intermediate_size);
  EXPECT_EQ(config.used_intermediate_size(1), 2 * 24 + 24);
}

TEST(MixtureConfig, wrong_numbers_are_refused_by_name) {
  for (const char* type : {"qwen3_moe", "mixtral", "glm4_moe"}) {
    const Json config = mixture_config(type);
    for (const Json& value : {Json(0), Json(-1), Json(4097), Json(2.5), Json("8"), Json(1e30)}) {
      expect_invalid_config(with(config, "num_local_experts", value), "num_local_experts");
      expect_invalid_config(with(config, "num_experts_per_tok", value), "num_experts_per_tok");
    }
    expect_invalid_config(without(config, "num_experts_per_tok"), "num_experts_per_tok");
    expect_invalid_config(with(config, "num_experts_per_tok", 9), "num_experts_per_tok",
                          "at most the number of experts to choose from, 8, got 9");
  }
  for (const char* type : {"qwen3_moe", "glm4_moe"}) {
    const Json config = mixture_config(type);
    for (const Json& value : {Json(0), Json(-8), Json(20), Json(int64_t{1} << 40), Json("24")}) {
      expect_invalid_config(with(config, "moe_intermediate_size", value), "moe_intermediate_size");
    }
    expect_invalid_config(without(config, "moe_intermediate_size"), "moe_intermediate_size");
    expect_invalid_config(with(config, "norm_topk_prob", 1), "norm_topk_prob");
  }
  const Json qwen = mixture_config("qwen3_moe");
  expect_invalid_config(with(qwen, "decoder_sparse_step", 0), "decoder_sparse_step");
  for (const Json& layers : {Json(1), Json({-1}), Json({100}), Json({0.5}), Json({"0"})}) {
    expect_invalid_config(with(qwen, "mlp_only_layers", layers), "mlp_only_layers");
  }
}

TEST(MixtureConfig, groups_must_fit_the_experts) {
  const Json glm = mixture_config("glm4_moe");
  for (const int groups : {0, 3, 8, 16, 5000}) {
    expect_invalid_config(with(glm, "n_group", groups), "n_group");
  }
  const Json grouped = with(glm, "n_group", 4);
  expect_invalid_config(with(grouped, "topk_group", 5), "topk_group", "at most n_group, 4");
  expect_invalid_config(with(with(grouped, "topk_group", 1), "num_experts_per_tok", 3),
                        "num_experts_per_tok", "to choose from, 2, got 3");
  expect_invalid_config(with(glm, "n_shared_experts", 65), "n_shared_experts");
  expect_invalid_config(with(glm, "routed_scaling_factor", 0), "routed_scaling_factor");
}

}  // namespace
}  // namespace cascade::testing
