// Tests of config.json: both dialects of real files, and every way in which one field can be wrong.
#include "model/config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model/config_testing.h"
#include "tests/shared_dir.h"

namespace cascade {
namespace {

using testing::add_experts;
using testing::expect_config_error;
using testing::expect_invalid_config;
using testing::minimal_config;
using testing::parsed_config;
using testing::read_config;
using testing::Windows;
using testing::with;
using testing::without;

void expect_unsupported_config(const Json& config, std::string_view field,
                               std::string_view message = "") {
  expect_config_error(config, ErrorCode::kUnsupported, field, message);
}

// The same file as transformers 4 would have written it.
Json as_v4(Json config) {
  Json rope = config["rope_parameters"];
  config.erase("rope_parameters");
  config.erase("layer_types");
  config["rope_theta"] = rope["rope_theta"];
  rope.erase("rope_theta");
  config["rope_scaling"] = rope["rope_type"] == "default" ? Json() : rope;
  return config;
}

// An even older file has "type" for "rope_type".
Json as_early_v4(Json config) {
  config = as_v4(std::move(config));
  Json& scaling = config["rope_scaling"];
  if (scaling.is_object()) {
    scaling["type"] = scaling["rope_type"];
    scaling.erase("rope_type");
  }
  return config;
}

TEST(ModelConfig, reads_all_fixtures_and_their_v4_twins_alike) {
  for (const char* name : {"llama-mha", "llama3-rope", "mistral-swa", "qwen2-bias", "qwen3-gqa"}) {
    const Json v5 = read_config(testing::fixtures_dir() / name / "config.json");
    const ModelConfig config = parsed_config(v5);
    EXPECT_EQ(config.layers, 3) << name;
    EXPECT_EQ(config.hidden_size, 64);
    EXPECT_EQ(config.intermediate_size, 160);
    EXPECT_EQ(config.vocab_size, 2048);
    EXPECT_EQ(config.rms_norm_eps, 1e-6F);
    EXPECT_EQ(config.query_heads, v5["num_attention_heads"].get<int>());
    EXPECT_EQ(config.kv_heads, v5["num_key_value_heads"].get<int>());
    EXPECT_EQ(config.head_dim, v5.value("head_dim", 16));
    EXPECT_EQ(config.window, std::vector<int>(3, v5["model_type"] == "mistral" ? 48 : 0));
    EXPECT_EQ(config, parsed_config(as_v4(v5))) << name;
    EXPECT_EQ(config, parsed_config(as_early_v4(v5))) << name;
  }
}

TEST(ModelConfig, reads_the_demo_model) {
  const ModelConfig config = parsed_config(read_config(testing::demo_model_dir() / "config.json"));
  ModelConfig expected;
  expected.model_type = "qwen3";
  expected.layers = 8;
  expected.hidden_size = 384;
  expected.intermediate_size = 1024;
  expected.query_heads = 6;
  expected.kv_heads = 2;
  expected.head_dim = 64;
  expected.vocab_size = 8192;
  expected.context_tokens_max = 16384;
  expected.rms_norm_eps = 1e-6F;
  expected.qk_norm = QkNorm::kHead;
  expected.tied_embeddings = true;
  expected.attention_scale = 0.125F;
  expected.rope.theta = 1e6;
  expected.window.assign(8, 0);
  expected.layer_rope.assign(8, LayerRope::kMain);
  EXPECT_EQ(config, expected);
}

TEST(ModelConfig, reads_a_v4_file_as_published) {
  const ModelConfig config =
      parsed_config(read_config(testing::fixtures_dir() / "gguf-types/hf/config.json"));
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.context_tokens_max, 40960);
  EXPECT_EQ(config.rope.theta, 1e6);
  EXPECT_EQ(config.rope.scaling, RopeScaling::kNone);
  EXPECT_TRUE(config.tied_embeddings);
}

TEST(ModelConfig, accepts_its_families_and_names_them_when_it_refuses) {
  const std::vector<std::string> families = {"gemma3_text",
                                             "gemma4_text",
                                             "glm4_moe",
                                             "gpt_oss",
                                             "granite",
                                             "granitemoe",
                                             "granitemoehybrid",
                                             "granitemoeshared",
                                             "lfm2",
                                             "lfm2_moe",
                                             "llama",
                                             "ministral3",
                                             "mistral",
                                             "mixtral",
                                             "olmo2",
                                             "olmo3",
                                             "olmoe",
                                             "phi3",
                                             "qwen2",
                                             "qwen2_moe",
                                             "qwen3",
                                             "qwen3_5_moe_text",
                                             "qwen3_5_text",
                                             "qwen3_moe",
                                             "qwen3_next",
                                             "smollm3"};
  std::string names;
  for (const std::string& type : families) {
    Json config = minimal_config(type.c_str());
    add_experts(config);  // Families without experts ignore these keys.
    const bool may_be_hybrid = type == "granitemoehybrid" || type.starts_with("qwen3_");
    if (may_be_hybrid) config["layer_types"] = Json(3, "full_attention");
    config["num_key_value_heads"] = 4;  // LFM2's default does not divide the heads
    EXPECT_EQ(parsed_config(config).model_type, type);
    names += (names.empty() ? "" : ", ") + type;
  }
  const auto result = parse_model_config(minimal_config("qwen4"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().to_string(),
            "unsupported: model_type: \"qwen4\" is not supported (supported: " + names +
                ") (in config.json)");
  for (const char* type : {"", "Qwen3", "qwen3 ", "qwen", "gemma2", "olmo4"}) {
    expect_unsupported_config(minimal_config(type), "model_type");
  }
  expect_invalid_config(without(minimal_config(), "model_type"), "model_type", "is missing");
  expect_invalid_config(with(minimal_config(), "model_type", 3), "model_type");
}

TEST(ModelConfig, says_which_kind_of_model_it_refuses) {
  for (const char* type :
       {"mamba", "jamba", "bamba", "nemotron_h", "kimi_linear", "rwkv", "falcon_h1", "zamba2"}) {
    expect_unsupported_config(minimal_config(type), "model_type", "recurrent or a hybrid");
  }
  for (const char* type : {"deepseek_v3", "phimoe", "ernie4_5_moe", "llama4"}) {
    expect_unsupported_config(minimal_config(type), "model_type", "a mixture of experts");
  }
  for (const char* type : {"llava", "qwen2_vl", "mllama", "mistral3", "gemma3n", "qwen3_5"}) {
    expect_unsupported_config(minimal_config(type), "model_type", "a multimodal model");
  }
  expect_unsupported_config({{"model_type", "qwen2_vl"}, {"text_config", minimal_config("qwen2")}},
                            "model_type", "a multimodal model");
}

TEST(ModelConfig, keeps_long_and_strange_names_out_of_its_messages) {
  const auto result = parse_model_config(minimal_config((std::string(5000, 'x') + "\n").c_str()));
  ASSERT_FALSE(result.ok());
  EXPECT_LT(result.error().message.size(), 400u);
  const auto strange = parse_model_config(minimal_config("a\nb\x1B"));
  ASSERT_FALSE(strange.ok());
  EXPECT_EQ(strange.error().message.find('\n'), std::string::npos);
  EXPECT_EQ(strange.error().message.find('\x1B'), std::string::npos);
}

TEST(ModelConfig, refuses_what_is_no_object) {
  for (const Json& config : {Json(), Json("llama"), Json::array({minimal_config()}), Json(1)}) {
    expect_invalid_config(config, "config.json");
  }
}

struct Range {
  const char* key;
  int64_t min;
  int64_t max;
};

TEST(ModelConfig, holds_every_size_to_its_limits) {
  const Range ranges[] = {
      {"num_hidden_layers", 1, 512},
      {"num_attention_heads", 1, 512},
      {"hidden_size", 8, 65'536},
      {"intermediate_size", 8, 1'048'576},
      {"vocab_size", 1, int64_t{1} << 21},
      {"max_position_embeddings", 1, int64_t{1} << 24},
      {"head_dim", 8, 512},
  };
  const Json base = with(minimal_config(), "head_dim", 16);
  for (const auto& [key, min, max] : ranges) {
    for (const int64_t fine : {min, max}) parsed_config(with(base, key, fine));
    for (const int64_t bad : {min - 1, max + 1, int64_t{-1}, INT64_MIN, INT64_MAX}) {
      expect_invalid_config(with(base, key, bad), key);
    }
    expect_invalid_config(with(base, key, UINT64_MAX), key);
    for (const Json& bad : {Json("8"), Json(8.5), Json(true), Json::array(), Json::object()}) {
      expect_invalid_config(with(base, key, bad), key);
    }
    if (std::string_view(key) == "head_dim") continue;  // may be absent
    expect_invalid_config(without(base, key), key, "is missing");
    expect_invalid_config(with(base, key, nullptr), key, "is missing");
  }
}

TEST(ModelConfig, takes_widths_in_steps_of_eight) {
  for (const char* key : {"hidden_size", "intermediate_size", "head_dim"}) {
    expect_invalid_config(with(with(minimal_config(), "head_dim", 16), key, 100), key,
                          "multiple of 8");
  }
}

TEST(ModelConfig, holds_the_epsilon_to_its_limits) {
  EXPECT_EQ(parsed_config(with(minimal_config(), "rms_norm_eps", 0.1)).rms_norm_eps, 0.1F);
  EXPECT_EQ(parsed_config(with(minimal_config(), "rms_norm_eps", 1e-12)).rms_norm_eps, 1e-12F);
  for (const Json& bad :
       {Json(0), Json(0.0), Json(-1e-6), Json(0.11), Json(1e-300), Json("1e-6"), Json(nullptr)}) {
    expect_invalid_config(with(minimal_config(), "rms_norm_eps", bad), "rms_norm_eps");
  }
}

TEST(ModelConfig, derives_the_head_dimension_only_where_it_divides) {
  EXPECT_EQ(parsed_config(minimal_config()).head_dim, 16);
  EXPECT_EQ(parsed_config(with(minimal_config(), "head_dim", nullptr)).head_dim, 16);
  EXPECT_EQ(parsed_config(with(minimal_config(), "head_dim", 128)).head_dim, 128);
  expect_invalid_config(with(minimal_config(), "num_attention_heads", 3), "head_dim",
                        "does not divide");
  expect_invalid_config(with(minimal_config(), "num_attention_heads", 16), "head_dim",
                        "between 8 and 512");
  expect_invalid_config(with(with(minimal_config(), "hidden_size", 96), "num_attention_heads", 8),
                        "head_dim", "multiple of 8");
}

TEST(ModelConfig, key_value_heads_divide_the_query_heads) {
  EXPECT_EQ(parsed_config(minimal_config()).kv_heads, 4);
  EXPECT_EQ(parsed_config(with(minimal_config(), "num_key_value_heads", nullptr)).kv_heads, 4);
  for (const int heads : {1, 2, 4}) {
    EXPECT_EQ(parsed_config(with(minimal_config(), "num_key_value_heads", heads)).kv_heads, heads);
  }
  for (const Json& bad : {Json(0), Json(3), Json(8), Json(-4), Json("4"), Json(2.0)}) {
    expect_invalid_config(with(minimal_config(), "num_key_value_heads", bad),
                          "num_key_value_heads");
  }
}

TEST(ModelConfig, knows_which_projections_have_a_bias) {
  struct Case {
    const char* type;
    bool set;
    bool qkv;
    bool output;
    bool mlp;
  };
  const Case cases[] = {
      {"llama", false, false, false, false},   {"llama", true, true, true, true},
      {"mistral", false, false, false, false}, {"mistral", true, false, false, false},
      {"qwen2", false, true, false, false},    {"qwen2", true, true, false, false},
      {"qwen3", false, false, false, false},   {"qwen3", true, true, true, false},
      {"granite", false, false, false, false}, {"granite", true, true, true, true},
      {"smollm3", false, false, false, false}, {"smollm3", true, true, true, true},
  };
  for (const auto& [type, set, qkv, output, mlp] : cases) {
    Json config = minimal_config(type);
    if (set) config["attention_bias"] = config["mlp_bias"] = true;
    const ModelConfig result = parsed_config(config);
    EXPECT_EQ(result.qkv_bias, qkv) << type << set;
    EXPECT_EQ(result.output_bias, output) << type << set;
    EXPECT_EQ(result.mlp_bias, mlp) << type << set;
    EXPECT_EQ(result.qk_norm, std::string_view(type) == "qwen3" ? QkNorm::kHead : QkNorm::kNone);
  }
  expect_invalid_config(with(minimal_config(), "attention_bias", "yes"), "attention_bias");
  expect_invalid_config(with(minimal_config(), "mlp_bias", 1), "mlp_bias");
}

TEST(ModelConfig, embeddings_are_tied_only_if_the_file_says_so) {
  EXPECT_FALSE(parsed_config(minimal_config()).tied_embeddings);
  EXPECT_FALSE(
      parsed_config(with(minimal_config(), "tie_word_embeddings", nullptr)).tied_embeddings);
  EXPECT_TRUE(parsed_config(with(minimal_config(), "tie_word_embeddings", true)).tied_embeddings);
  expect_invalid_config(with(minimal_config(), "tie_word_embeddings", 0), "tie_word_embeddings");
}

TEST(ModelConfig, refuses_what_is_not_built) {
  EXPECT_EQ(parsed_config(with(minimal_config(), "hidden_act", "gelu_pytorch_tanh")).activation,
            Activation::kGeluTanh);
  for (const char* activation : {"gelu", "relu", "gelu_new", "SiLU", ""}) {
    expect_unsupported_config(with(minimal_config(), "hidden_act", activation), "hidden_act");
  }
  expect_invalid_config(without(minimal_config(), "hidden_act"), "hidden_act", "is missing");
  expect_unsupported_config(
      with(minimal_config(), "quantization_config", {{"quant_method", "awq"}}),
      "quantization_config");
  parsed_config(with(minimal_config(), "quantization_config", nullptr));
}

TEST(ModelConfig, ignores_keys_that_do_not_change_the_forward_pass) {
  const Json noise = {{"initializer_range", 0.02}, {"torch_dtype", "bfloat16"},
                      {"use_cache", true},         {"pretraining_tp", 1},
                      {"attention_dropout", 0.0},  {"architectures", {"LlamaForCausalLM"}}};
  Json config = minimal_config();
  config.update(noise);
  EXPECT_EQ(parsed_config(config), parsed_config(minimal_config()));
}

TEST(ModelConfig, mistral_slides_in_all_layers) {
  const Json config = minimal_config("mistral");
  EXPECT_EQ(parsed_config(with(config, "sliding_window", 48)).window, Windows({48, 48, 48}));
  EXPECT_EQ(parsed_config(with(config, "sliding_window", nullptr)).window, Windows({0, 0, 0}));
  EXPECT_EQ(parsed_config(config).window, Windows({4096, 4096, 4096})) << "transformers' default";
  const Json types = {"sliding_attention", "full_attention", "sliding_attention"};
  EXPECT_EQ(parsed_config(with(with(config, "sliding_window", 48), "layer_types", types)).window,
            Windows({48, 0, 48}));
  expect_invalid_config(with(with(config, "sliding_window", nullptr), "layer_types", types),
                        "layer_types", "sliding_window is off");
  for (const Json& bad : {Json(0), Json(-1), Json("48"), Json(INT64_MAX), Json(4.5)}) {
    expect_invalid_config(with(config, "sliding_window", bad), "sliding_window");
  }
}

TEST(ModelConfig, qwen_slides_only_if_told_and_in_its_later_layers) {
  for (const char* type : {"qwen2", "qwen3"}) {
    const Json off = with(with(minimal_config(type), "sliding_window", 32), "max_window_layers", 1);
    EXPECT_EQ(parsed_config(off).window, Windows({0, 0, 0}));
    EXPECT_EQ(parsed_config(with(off, "use_sliding_window", false)).window, Windows({0, 0, 0}));
    const Json on = with(off, "use_sliding_window", true);
    EXPECT_EQ(parsed_config(on).window, Windows({0, 32, 32}));
    EXPECT_EQ(parsed_config(with(on, "max_window_layers", 0)).window, Windows({32, 32, 32}));
    EXPECT_EQ(parsed_config(with(on, "max_window_layers", 3)).window, Windows({0, 0, 0}));
    EXPECT_EQ(parsed_config(without(on, "max_window_layers")).window, Windows({0, 0, 0}));
    EXPECT_EQ(parsed_config(with(on, "sliding_window", nullptr)).window, Windows({0, 0, 0}));
    EXPECT_EQ(parsed_config(without(on, "sliding_window")).window, Windows({0, 4096, 4096}));
    const Json types = {"sliding_attention", "full_attention", "full_attention"};
    EXPECT_EQ(parsed_config(with(on, "layer_types", types)).window, Windows({32, 0, 0}));
    expect_invalid_config(with(off, "layer_types", types), "layer_types", "sliding_window is off");
    expect_invalid_config(with(on, "use_sliding_window", "yes"), "use_sliding_window");
    expect_invalid_config(with(on, "max_window_layers", -1), "max_window_layers");
  }
}

TEST(ModelConfig, llama_never_slides) {
  const Json config =
      with(with(minimal_config(), "sliding_window", 32), "use_sliding_window", true);
  EXPECT_EQ(parsed_config(config).window, Windows({0, 0, 0}));
}

TEST(ModelConfig, layer_types_are_a_list_of_known_names_one_for_each_layer) {
  const Json config = with(minimal_config("qwen3"), "sliding_window", 32);
  const Json full(std::vector<std::string>(3, "full_attention"));
  EXPECT_EQ(parsed_config(with(config, "layer_types", full)).window, Windows({0, 0, 0}));
  EXPECT_EQ(parsed_config(with(config, "layer_types", nullptr)).window, Windows({0, 0, 0}));
  const Json unknown = {"full_attention", "linear_attention", "full_attention"};
  expect_unsupported_config(with(config, "layer_types", unknown), "layer_types",
                            "linear_attention");
  for (const Json& bad : {Json("full_attention"), Json::array(), Json::array({"full_attention"}),
                          Json({1, 2, 3}), Json({"full_attention", nullptr, "full_attention"}),
                          Json(std::vector<std::string>(4, "full_attention"))}) {
    expect_invalid_config(with(config, "layer_types", bad), "layer_types");
  }
}

}  // namespace
}  // namespace cascade
