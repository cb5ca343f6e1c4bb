// Faulty descriptions of recurrent layers in config.json give errors that name the file's own key.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/config_recurrent.h"
#include "tests/model/recurrent_config_testing.h"

namespace cascade::testing {
namespace {

void expect_unsupported_layers(const Json& config, std::string_view field,
                               std::string_view message) {
  expect_config_error(config, ErrorCode::kUnsupported, field, message);
}

// Each number of these keys must be a whole one from 1 to a limit.
struct WholeNumber {
  const char* key;
  int64_t max;
};

void expect_limits(const Json& config, const WholeNumber& number) {
  const auto& [key, max] = number;
  SCOPED_TRACE(key);
  for (const Json& bad :
       {Json(0), Json(-1), Json(max + 1), Json(INT64_MAX), Json(INT64_MIN), Json(UINT64_MAX),
        Json(8.5), Json("8"), Json(true), Json::array({8}), Json::object()}) {
    expect_invalid_config(with(config, key, bad), key);
  }
}

TEST(RecurrentConfigErrors, sizes_of_qwen_are_held_to_their_limits) {
  for (const char* type : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    const Json config = hybrid_config(type);
    for (const WholeNumber& number :
         {WholeNumber{"linear_conv_kernel_dim", 16}, WholeNumber{"linear_key_head_dim", 512},
          WholeNumber{"linear_value_head_dim", 512}, WholeNumber{"linear_num_key_heads", 512},
          WholeNumber{"linear_num_value_heads", 512}}) {
      expect_limits(config, number);
    }
    for (const char* key : {"linear_key_head_dim", "linear_value_head_dim"}) {
      for (const int dim : {1, 7, 12, 511}) {
        expect_invalid_config(with(config, key, dim), key,
                              "must be a multiple of 8, got " + std::to_string(dim));
      }
    }
    expect_limits(without(config, "layer_types"), {"full_attention_interval", 512});
  }
}

TEST(RecurrentConfigErrors, sizes_of_granite_are_held_to_their_limits) {
  const Json config = hybrid_config("granitemoehybrid");
  for (const WholeNumber& number :
       {WholeNumber{"mamba_d_conv", 16}, WholeNumber{"mamba_d_state", 512},
        WholeNumber{"mamba_n_groups", 512}, WholeNumber{"mamba_n_heads", 512},
        WholeNumber{"mamba_expand", 64}, WholeNumber{"mamba_d_head", 512}}) {
    expect_limits(config, number);
  }
  for (const char* key : {"mamba_d_state", "mamba_d_head"}) {
    expect_invalid_config(with(config, key, 12), key, "must be a multiple of 8, got 12");
  }
  for (const char* key : {"mamba_conv_bias", "mamba_proj_bias"}) {
    for (const Json& bad : {Json(1), Json("true")}) {
      expect_invalid_config(with(config, key, bad), key);
    }
  }
}

TEST(RecurrentConfigErrors, sizes_of_lfm2_are_held_to_their_limits) {
  for (const char* type : {"lfm2", "lfm2_moe"}) {
    expect_limits(hybrid_config(type), {"conv_L_cache", 16});
    expect_invalid_config(with(hybrid_config(type), "conv_bias", 0), "conv_bias");
  }
}

TEST(RecurrentConfigErrors, key_heads_divide_value_heads) {
  const Json qwen = with(hybrid_config("qwen3_next"), "linear_num_value_heads", 6);
  for (const int heads : {4, 5, 12}) {
    expect_invalid_config(with(qwen, "linear_num_key_heads", heads), "linear_num_key_heads",
                          "must divide linear_num_value_heads (6), got " + std::to_string(heads));
  }
  const Json granite = hybrid_config("granitemoehybrid");
  expect_invalid_config(with(granite, "mamba_n_groups", 3), "mamba_n_groups",
                        "must divide mamba_n_heads (4), got 3");
}

TEST(RecurrentConfigErrors, heads_of_mamba_make_up_its_width) {
  const Json config = hybrid_config("granitemoehybrid");
  for (const int dim : {8, 24, 64, 512}) {
    expect_invalid_config(with(config, "mamba_d_head", dim), "mamba_d_head",
                          "times mamba_n_heads must be mamba_expand times hidden_size (128), got " +
                              std::to_string(4 * dim));
  }
  // Where the heads have the size that is left, it must be one.
  for (const Json& size : {Json(nullptr), Json("auto")}) {
    const Json derived = with(config, "mamba_d_head", size);
    expect_invalid_config(with(derived, "mamba_n_heads", 3), "mamba_d_head", "multiple of 8");
    expect_invalid_config(with(derived, "mamba_n_heads", 256), "mamba_d_head", "got 0");
    expect_invalid_config(with(derived, "mamba_expand", 64), "mamba_d_head", "512");
  }
  // 17 heads of 8 leave 8 of 144 channels over.
  Json uneven = with(with(config, "hidden_size", 72), "mamba_n_heads", 17);
  uneven["head_dim"] = 16;
  expect_invalid_config(uneven, "mamba_d_head", "(144), got 136");
  expect_invalid_config(with(config, "mamba_d_head", "automatic"), "mamba_d_head");
}

TEST(RecurrentConfigErrors, the_largest_sizes_are_refused_without_overflow) {
  Json json = hybrid_config("granitemoehybrid");
  json.update({{"hidden_size", 65'536},
               {"head_dim", 16},
               {"mamba_expand", 4},
               {"mamba_n_heads", 512},
               {"mamba_n_groups", 512},
               {"mamba_d_state", 512},
               {"mamba_d_conv", 16}});
  expect_unsupported_layers(json, "mamba_d_state",
                            "makes the state of a layer 584056832 bytes, limit 67108864");
  // 65,536 times 64 is more than heads can make up.
  expect_invalid_config(with(json, "mamba_expand", 64), "mamba_d_head", "512");
  expect_invalid_config(with(with(json, "mamba_expand", 64), "mamba_d_head", 512), "mamba_d_head",
                        "(4194304), got 262144");
}

TEST(RecurrentConfigErrors, a_state_that_is_too_large_is_refused) {
  Json json = hybrid_config("qwen3_5_text");
  json.update({{"linear_num_key_heads", 512},
               {"linear_num_value_heads", 512},
               {"linear_key_head_dim", 512},
               {"linear_value_head_dim", 512},
               {"linear_conv_kernel_dim", 16}});
  expect_unsupported_layers(json, "linear_key_head_dim", "bytes, limit 67108864");
  // The largest that is accepted, without a convolution's inputs.
  json.update({{"linear_num_value_heads", 64},
               {"linear_num_key_heads", 64},
               {"linear_conv_kernel_dim", 1}});
  const ModelConfig largest = parsed_config(json);
  EXPECT_EQ(largest.recurrent.layer_floats() * sizeof(float), kLayerStateBytesMax);
  expect_unsupported_layers(with(json, "linear_conv_kernel_dim", 2), "linear_key_head_dim",
                            "67502080 bytes");
}

TEST(RecurrentConfigErrors, at_least_one_layer_attends) {
  constexpr const char* kMessage = "at least one layer attend";
  for (const char* type : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    const Json json = hybrid_config(type);
    expect_unsupported_layers(with(json, "layer_types", Json(3, "linear_attention")), "layer_types",
                              kMessage);
    const Json pattern = without(json, "layer_types");
    expect_unsupported_layers(pattern, "full_attention_interval", kMessage);
    expect_unsupported_layers(with(pattern, "full_attention_interval", 512),
                              "full_attention_interval", kMessage);
  }
  const Json lfm2 = hybrid_config("lfm2");
  expect_unsupported_layers(with(lfm2, "layer_types", Json(3, "conv")), "layer_types", kMessage);
  expect_unsupported_layers(with(without(lfm2, "layer_types"), "full_attn_idxs", Json::array()),
                            "full_attn_idxs", kMessage);
  const Json granite = without(hybrid_config("granitemoehybrid"), "layer_types");
  expect_unsupported_layers(granite, "layer_types", kMessage);
  expect_unsupported_layers(with(granite, "layers_block_type", Json(3, "mamba")),
                            "layers_block_type", kMessage);
}

TEST(RecurrentConfigErrors, types_of_layers_are_those_of_the_family) {
  struct Case {
    const char* type;
    const char* other;
    const char* supported;
  };
  for (const auto& [type, other, supported] :
       {Case{"qwen3_next", "mamba", "full_attention, linear_attention"},
        Case{"qwen3_5_text", "conv", "full_attention, linear_attention"},
        Case{"lfm2", "linear_attention", "full_attention, conv"},
        Case{"lfm2_moe", "sliding_attention", "full_attention, conv"},
        Case{"granitemoehybrid", "conv", "full_attention, linear_attention, mamba"}}) {
    Json json = hybrid_config(type);
    json["layer_types"][0] = other;
    expect_unsupported_layers(
        json, "layer_types",
        '"' + std::string(other) + "\" is not supported (supported: " + supported + ")");
  }
  Json older = without(hybrid_config("granitemoehybrid"), "layer_types");
  older["layers_block_type"] = {"attention", "mamba2", "attention"};
  expect_unsupported_layers(older, "layers_block_type", "mamba2");
}

TEST(RecurrentConfigErrors, types_of_layers_are_a_list_of_one_name_for_each) {
  for (const char* type : {"qwen3_next", "qwen3_5_moe_text", "lfm2", "granitemoehybrid"}) {
    const Json json = hybrid_config(type);
    for (const Json& bad : {Json("full_attention"), Json(1), Json::array(), Json::object(),
                            Json(2, "full_attention"), Json(4, "full_attention")}) {
      expect_invalid_config(with(json, "layer_types", bad), "layer_types",
                            "must be a list of num_hidden_layers (3) strings");
    }
    expect_invalid_config(with(json, "layer_types", Json(3, 1)), "layer_types", "strings only");
  }
  const Json older = without(hybrid_config("granitemoehybrid"), "layer_types");
  expect_invalid_config(with(older, "layers_block_type", Json(2, "attention")), "layers_block_type",
                        "a list of");
}

TEST(RecurrentConfigErrors, a_list_of_attending_layers_has_numbers_of_layers) {
  const Json json = without(hybrid_config("lfm2"), "layer_types");
  for (const Json& bad : {Json(1), Json("1"), Json::object(), Json({-1}), Json({3}), Json({0, 1.0}),
                          Json({"0"}), Json({nullptr}), Json({true}), Json({UINT64_MAX}),
                          Json({INT64_MIN}), Json({uint64_t{1} << 32})}) {
    expect_invalid_config(with(json, "full_attn_idxs", bad), "full_attn_idxs",
                          "must be a list of numbers of layers, from 0 to 2");
  }
}

TEST(RecurrentConfigErrors, keys_of_lfm2_are_named_as_the_file_has_them) {
  for (const char* type : {"lfm2", "lfm2_moe"}) {
    const Json json = hybrid_config(type);
    for (const Json& bad : {Json("1e-5"), Json(0), Json(0.5), Json(true)}) {
      expect_invalid_config(with(json, "norm_eps", bad), "norm_eps");
      expect_invalid_config(with(json, "rms_norm_eps", bad), "rms_norm_eps");
    }
    for (const Json& bad : {Json(1), Json("false")}) {
      expect_invalid_config(with(json, "tie_embedding", bad), "tie_embedding");
      expect_invalid_config(with(json, "tie_word_embeddings", bad), "tie_word_embeddings");
    }
    expect_invalid_config(without(json, "intermediate_size"), "intermediate_size", "is missing");
  }
  const Json json = hybrid_config("lfm2");
  for (const Json& bad : {Json(0), Json(100), Json(int64_t{1} << 40), Json("160")}) {
    expect_invalid_config(with(json, "block_ff_dim", bad), "block_ff_dim");
    expect_invalid_config(with(json, "intermediate_size", bad), "intermediate_size");
  }
  expect_invalid_config(with(json, "theta", "high"), "theta");
  expect_invalid_config(with(json, "theta", 0), "theta");
}

TEST(RecurrentConfigErrors, mlps_of_lfm2_have_a_width_that_kernels_take) {
  const Json json = hybrid_config("lfm2");
  constexpr const char* kMessage = "must give MLPs of a multiple of 8 channels, at most 1048576";
  // 106 of 160 channels are left.
  for (const int step : {1, 3, 107, 1'048'569}) {
    expect_invalid_config(with(json, "block_multiple_of", step), "intermediate_size", kMessage);
  }
  const Json wide = with(json, "block_ffn_dim_multiplier", 1000);
  expect_invalid_config(with(wide, "block_ff_dim", 1'048'576), "block_ff_dim",
                        std::string(kMessage) + ", got 699050240");
  expect_invalid_config(with(with(json, "block_ffn_dim_multiplier", 1e-3), "block_multiple_of", 8),
                        "intermediate_size", "got 0");
  for (const Json& bad : {Json(0), Json(-1), Json(1e9), Json("1.0")}) {
    expect_invalid_config(with(json, "block_ffn_dim_multiplier", bad), "block_ffn_dim_multiplier");
  }
  for (const Json& bad : {Json(0), Json(1'048'577), Json(INT64_MAX), Json(8.0)}) {
    expect_invalid_config(with(json, "block_multiple_of", bad), "block_multiple_of");
  }
  expect_invalid_config(with(json, "block_auto_adjust_ff_dim", 1), "block_auto_adjust_ff_dim");
  // A mixture has no such keys.
  EXPECT_EQ(parsed_config(with(hybrid_config("lfm2_moe"), "block_multiple_of", 3)),
            parsed_config(hybrid_config("lfm2_moe")));
}

TEST(RecurrentConfigErrors, limits_of_steps_are_two_numbers_in_order) {
  const Json json = hybrid_config("granitemoehybrid");
  const Json infinity = {{"__float__", "Infinity"}};
  for (const Json& bad :
       {Json(1), Json("0, 1"), Json::object(), infinity, Json::array(), Json({0.5}),
        Json({0, 1, 2}), Json({1, 0.5}), Json({-1, 1}), Json({0, 1e7}), Json({0, "1"}),
        Json({nullptr, 1}), Json({false, true}), Json::array({infinity, 1}),
        Json::array({infinity, infinity}), Json::array({0, Json{{"__float__", "NaN"}}}),
        Json::array({0, Json{{"__float__", 1}}}), Json::array({0, Json{{"Infinity", 1}}})}) {
    expect_invalid_config(with(json, "time_step_limit", bad), "time_step_limit",
                          "must be two numbers from 0 to 1000000");
  }
}

TEST(RecurrentConfigErrors, qwen_without_gates_is_refused_whichever_layers_it_has) {
  for (const char* type : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    const Json json = with(hybrid_config(type), "attn_output_gate", false);
    expect_unsupported_layers(json, "attn_output_gate", "must be true");
    expect_unsupported_layers(with(json, "layer_types", Json(3, "full_attention")),
                              "attn_output_gate", "must be true");
    expect_invalid_config(with(json, "attn_output_gate", 1), "attn_output_gate");
  }
}

TEST(RecurrentConfigErrors, recurrent_layers_have_silu_only) {
  for (const char* type : {"qwen3_next", "qwen3_5_text", "granitemoehybrid"}) {
    const Json json = with(hybrid_config(type), "hidden_act", "gelu_pytorch_tanh");
    expect_unsupported_layers(json, "hidden_act", "must be silu");
    const Json attending = with(json, "layer_types", Json(3, "full_attention"));
    EXPECT_EQ(parsed_config(attending).activation, Activation::kGeluTanh);
  }
}

}  // namespace
}  // namespace cascade::testing
