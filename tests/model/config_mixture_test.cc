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

// Every second layer has the window.
Json alternating_types(int layers) {
  Json types = Json::array();
  for (int layer = 0; layer < layers; ++layer) {
    types.push_back(layer % 2 == 0 ? "full_attention" : "sliding_attention");
  }
  return types;
}

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

TEST(MixtureConfig, of_qwen2_has_a_gated_expert_that_all_tokens_use) {
  Json config = mixture_config("qwen2_moe");
  MixtureConfig expected = {.layers = {true, true, true},
                            .experts = 8,
                            .chosen = 2,
                            .intermediate_size = 24,
                            .shared_intermediate_size = 40,
                            .shared_gate = true,
                            .names = ExpertNames::kQwen2};
  EXPECT_EQ(parsed_config(config).mixture, expected);
  config["mlp_only_layers"] = {0};
  config["norm_topk_prob"] = true;
  expected.layers = {false, true, true};
  expected.normalizes = true;
  EXPECT_EQ(parsed_config(config).mixture, expected);
  for (const Json& size : {Json(0), Json(20), Json(1 << 30), Json("40"), Json(nullptr)}) {
    expect_invalid_config(with(config, "shared_expert_intermediate_size", size),
                          "shared_expert_intermediate_size");
  }
}

TEST(MixtureConfig, of_qwen2_has_biases_of_queries_keys_and_values_unless_told_otherwise) {
  const Json config = mixture_config("qwen2_moe");
  for (const Json& value : {Json(nullptr), Json(true)}) {
    EXPECT_TRUE(parsed_config(with(config, "qkv_bias", value)).qkv_bias);
    EXPECT_FALSE(parsed_config(with(config, "qkv_bias", value)).output_bias);
  }
  EXPECT_FALSE(parsed_config(with(config, "qkv_bias", false)).qkv_bias);
  expect_invalid_config(with(config, "qkv_bias", 1), "qkv_bias");
  EXPECT_FALSE(parsed_config(with(mixture_config("qwen3_moe"), "qkv_bias", true)).qkv_bias);
}

TEST(MixtureConfig, of_qwen2_may_have_a_window_in_even_layers_before_the_last_ones) {
  Json config = with(mixture_config("qwen2_moe"), "num_hidden_layers", 5);
  config["sliding_window"] = 32;
  config["max_window_layers"] = 3;
  EXPECT_EQ(parsed_config(config).window, Windows(5, 0));
  config["use_sliding_window"] = true;
  EXPECT_EQ(parsed_config(config).window, Windows({32, 0, 32, 0, 0}));
  EXPECT_EQ(parsed_config(without(config, "max_window_layers")).window,
            Windows({32, 0, 32, 0, 32}));
  config["layer_types"] = alternating_types(5);
  EXPECT_EQ(parsed_config(config).window, Windows({0, 32, 0, 32, 0}));
}

TEST(MixtureConfig, of_olmoe_has_experts_of_the_usual_size) {
  const Json json = mixture_config("olmoe");
  const ModelConfig config = parsed_config(json);
  const MixtureConfig expected = {
      .layers = {true, true, true}, .experts = 8, .chosen = 2, .intermediate_size = 160};
  EXPECT_EQ(config.mixture, expected);
  EXPECT_EQ(config.qk_norm, QkNorm::kWhole);
  EXPECT_TRUE(parsed_config(with(json, "norm_topk_prob", true)).mixture.normalizes);
  EXPECT_EQ(parsed_config(with(json, "clip_qkv", nullptr)), config);
  expect_config_error(with(json, "clip_qkv", 8.0), ErrorCode::kUnsupported, "clip_qkv",
                      "must be null");
}

TEST(MixtureConfig, of_granite_has_experts_of_the_usual_size_and_may_have_a_shared_one) {
  MixtureConfig expected = {.layers = {true, true, true},
                            .experts = 8,
                            .chosen = 2,
                            .intermediate_size = 160,
                            .normalizes = true,
                            .names = ExpertNames::kGranite};
  const auto with_shared = [](const char* type) {
    return with(mixture_config(type), "shared_intermediate_size", 40);
  };
  EXPECT_EQ(parsed_config(with_shared("granitemoe")).mixture, expected);
  EXPECT_EQ(parsed_config(mixture_config("granitemoeshared")).mixture, expected);
  expected.shared_intermediate_size = 40;
  const ModelConfig shared = parsed_config(with_shared("granitemoeshared"));
  EXPECT_EQ(shared.mixture, expected);
  EXPECT_EQ(shared.used_intermediate_size(0), 2 * 160 + 40);
  for (const Json& size : {Json(-8), Json(20), Json(1 << 30), Json("40")}) {
    expect_invalid_config(
        with(mixture_config("granitemoeshared"), "shared_intermediate_size", size),
        "shared_intermediate_size");
  }
}

Json granite4_config() {
  Json config = mixture_config("granitemoehybrid");
  config["layer_types"] = Json(3, "attention");
  config["shared_intermediate_size"] = 40;
  return config;
}

TEST(MixtureConfig, of_granite4_may_have_no_experts_but_a_shared_one) {
  Json json = granite4_config();
  EXPECT_EQ(parsed_config(json).mixture.names, ExpertNames::kGranite);
  EXPECT_EQ(parsed_config(json).mixture.all_experts(), 9);
  EXPECT_EQ(parsed_config(without(json, "shared_intermediate_size")).mixture.all_chosen(), 3);
  EXPECT_EQ(parsed_config(without(json, "shared_intermediate_size")).used_intermediate_size(0),
            2 * 160 + 1024);
  json["num_local_experts"] = 0;
  json["num_experts_per_tok"] = 0;
  const ModelConfig dense = parsed_config(json);
  EXPECT_EQ(dense.mixture, (MixtureConfig{.layers = {}, .names = ExpertNames::kGranite}));
  EXPECT_EQ(dense.intermediate_size, 40);
  expect_invalid_config(with(json, "shared_intermediate_size", 0), "shared_intermediate_size");
  expect_invalid_config(with(json, "num_local_experts", -1), "num_local_experts");
  expect_invalid_config(without(json, "num_local_experts"), "num_local_experts", "is missing");
}

TEST(MixtureConfig, of_granite4_rotates_if_the_file_says_rope) {
  using Ropes = std::vector<LayerRope>;
  const Json json = granite4_config();
  for (const Json& position : {Json(nullptr), Json("nope")}) {
    EXPECT_EQ(parsed_config(with(json, "position_embedding_type", position)).layer_rope,
              Ropes(3, LayerRope::kNone));
  }
  EXPECT_EQ(parsed_config(with(json, "position_embedding_type", "rope")).layer_rope,
            Ropes(3, LayerRope::kMain));
  expect_config_error(with(json, "position_embedding_type", "alibi"), ErrorCode::kUnsupported,
                      "position_embedding_type", "alibi");
  expect_invalid_config(with(json, "position_embedding_type", 1), "position_embedding_type");
}

// tests/model/config_recurrent_test.cc is about recurrent layers.
TEST(MixtureConfig, of_granite4_may_have_no_recurrent_layers) {
  const Json json = granite4_config();
  const Json full(3, "full_attention");
  EXPECT_EQ(parsed_config(json).recurrent, RecurrentConfig());
  Json older = with(without(json, "layer_types"), "layers_block_type", full);
  EXPECT_EQ(parsed_config(older), parsed_config(json));
  EXPECT_EQ(parsed_config(with(json, "layer_types", full)), parsed_config(json));
  expect_config_error(with(json, "layer_types", {"attention", "sliding_attention", "attention"}),
                      ErrorCode::kUnsupported, "layer_types",
                      "\"sliding_attention\" is not supported");
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

TEST(MixtureConfig, of_gpt_oss_has_joined_experts_of_the_usual_size_with_biases) {
  const ModelConfig config = parsed_config(mixture_config("gpt_oss"));
  const MixtureConfig expected = {.layers = {true, true, true},
                                  .experts = 8,
                                  .chosen = 2,
                                  .intermediate_size = 160,
                                  .router_bias = true,
                                  .expert_bias = true,
                                  .normalizes = true,
                                  .names = ExpertNames::kJoined};
  EXPECT_EQ(config.mixture, expected);
  EXPECT_EQ(config.draft_layers, 0);
  EXPECT_EQ(config.used_intermediate_size(0), 2 * 160);
  // The number of experts has one name in this family.
  Json other = without(mixture_config("gpt_oss"), "num_local_experts");
  expect_invalid_config(with(other, "num_experts", 8), "num_local_experts", "is missing");
}

TEST(MixtureConfig, of_gpt_oss_has_sinks_and_biases_unless_told_otherwise) {
  const Json json = mixture_config("gpt_oss");
  const ModelConfig config = parsed_config(json);
  EXPECT_TRUE(config.attention_sinks);
  EXPECT_TRUE(config.qkv_bias && config.output_bias);
  EXPECT_FALSE(config.mlp_bias);
  EXPECT_FALSE(config.tied_embeddings);
  EXPECT_EQ(config.qk_norm, QkNorm::kNone);
  const ModelConfig plain = parsed_config(with(json, "attention_bias", false));
  EXPECT_FALSE(plain.qkv_bias || plain.output_bias);
  EXPECT_TRUE(plain.attention_sinks);
  EXPECT_EQ(parsed_config(with(json, "attention_bias", nullptr)), config);
  expect_invalid_config(with(json, "attention_bias", 1), "attention_bias");
  for (const char* type : {"llama", "mixtral", "qwen3_moe", "glm4_moe"}) {
    const ModelConfig other = parsed_config(mixture_config(type));
    EXPECT_FALSE(other.attention_sinks || other.qkv_bias || other.output_bias) << type;
  }
}

TEST(MixtureConfig, of_gpt_oss_has_a_window_in_every_second_layer_or_in_those_listed) {
  const Json json = with(mixture_config("gpt_oss"), "num_hidden_layers", 5);
  EXPECT_EQ(parsed_config(json).window, Windows({128, 0, 128, 0, 128}));
  EXPECT_EQ(parsed_config(with(json, "sliding_window", 32)).window, Windows({32, 0, 32, 0, 32}));
  EXPECT_EQ(parsed_config(with(json, "sliding_window", nullptr)).window, Windows(5, 0));
  EXPECT_EQ(parsed_config(with(json, "use_sliding_window", false)), parsed_config(json));
  EXPECT_EQ(parsed_config(json).layer_rope, std::vector<LayerRope>(5, LayerRope::kMain));
  const Json listed = with(json, "layer_types", alternating_types(5));
  EXPECT_EQ(parsed_config(listed).window, Windows({0, 128, 0, 128, 0}));
  EXPECT_EQ(parsed_config(with(listed, "sliding_window", 32)).window, Windows({0, 32, 0, 32, 0}));
  expect_invalid_config(with(listed, "sliding_window", nullptr), "layer_types",
                        "sliding_window is off");
  for (const Json& window : {Json(0), Json(-128), Json(1.5), Json("128")}) {
    expect_invalid_config(with(json, "sliding_window", window), "sliding_window");
  }
  for (const Json& types : {Json(1), alternating_types(4), alternating_types(6), Json({0, 1, 0})}) {
    expect_invalid_config(with(json, "layer_types", types), "layer_types");
  }
  const Json chunked(std::vector<std::string>(5, "chunked_attention"));
  expect_config_error(with(json, "layer_types", chunked), ErrorCode::kUnsupported, "layer_types",
                      "chunked_attention");
}

TEST(MixtureConfig, of_gpt_oss_clamps_whatever_hidden_act_says) {
  const Json json = mixture_config("gpt_oss");
  for (const char* name : {"silu", "gelu_pytorch_tanh", "swiglu"}) {
    EXPECT_EQ(parsed_config(with(json, "hidden_act", name)).activation, Activation::kClampedSwiglu)
        << name;
  }
  for (const char* type : {"mixtral", "qwen3_moe", "glm4_moe"}) {
    EXPECT_EQ(parsed_config(mixture_config(type)).activation, Activation::kSilu) << type;
  }
}

TEST(MixtureConfig, of_gpt_oss_has_no_other_limit_than_7) {
  const Json json = mixture_config("gpt_oss");
  for (const Json& limit : {Json(7), Json(7.0), Json(nullptr)}) {
    EXPECT_EQ(parsed_config(with(json, "swiglu_limit", limit)), parsed_config(json));
  }
  for (const Json& limit : {Json(0), Json(6), Json(7.5), Json(1e6)}) {
    expect_config_error(with(json, "swiglu_limit", limit), ErrorCode::kUnsupported, "swiglu_limit",
                        "must be 7, got " + Json(limit.get<double>()).dump());
  }
  for (const Json& limit : {Json(-7), Json(1e7), Json("7"), Json(true), Json::array({7})}) {
    expect_invalid_config(with(json, "swiglu_limit", limit), "swiglu_limit");
  }
  // The other families have no limit.
  EXPECT_EQ(parsed_config(with(mixture_config("mixtral"), "swiglu_limit", 6)),
            parsed_config(mixture_config("mixtral")));
}

TEST(MixtureConfig, a_layer_uses_the_channels_of_the_chosen_experts) {
  Json json = with(mixture_config("glm4_moe"), "num_hidden_layers", 2);
  const ModelConfig config = parsed_config(json);
  EXPECT_EQ(config.used_intermediate_size(0), config.intermediate_size);
  EXPECT_EQ(config.used_intermediate_size(1), 2 * 24 + 24);
}

TEST(MixtureConfig, wrong_numbers_are_refused_by_name) {
  for (const char* type : {"qwen3_moe", "mixtral", "glm4_moe", "gpt_oss"}) {
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
  for (const char* type : {"mixtral", "gpt_oss"}) {
    for (const Json& value : {Json(0), Json(20), Json(int64_t{1} << 40), Json("160")}) {
      expect_invalid_config(with(mixture_config(type), "intermediate_size", value),
                            "intermediate_size");
    }
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
