// The model's configuration from the metadata, and what is refused by name.
#include <gtest/gtest.h>

#include "model/gguf/config.h"
#include "model/gguf/model.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/gguf/small_model.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

Result<ModelConfig> config_of(const std::string& file) {
  TemporaryFolder folder;
  return read_gguf_config(folder.write("m.gguf", file));
}

Error error_of(const std::string& file) {
  const auto config = config_of(file);
  EXPECT_FALSE(config.ok());
  return config.ok() ? Error() : config.error();
}

TEST(GgufConfig, reads_sizes_and_switches) {
  const auto config = config_of(SmallModel().file());
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->model_type, "qwen3");
  EXPECT_EQ(config->layers, 1);
  EXPECT_EQ(config->hidden_size, 32);
  EXPECT_EQ(config->intermediate_size, 64);
  EXPECT_EQ(config->query_heads, 2);
  EXPECT_EQ(config->kv_heads, 1);
  EXPECT_EQ(config->head_dim, 16);
  EXPECT_EQ(config->vocab_size, 260);
  EXPECT_EQ(config->context_tokens_max, 256);
  EXPECT_EQ(config->rms_norm_eps, 1e-6f);
  EXPECT_EQ(config->qk_norm, QkNorm::kHead);
  EXPECT_TRUE(config->tied_embeddings);
  EXPECT_EQ(config->rope.theta, 1e4);
  const auto untied = config_of(SmallModel().file([](GgufWriter& out) {
    out.tensor("output.weight", {32, 260}, kGgmlF32, std::string(32 * 260 * 4, '\0'));
  }));
  EXPECT_FALSE(untied->tied_embeddings);
}

TEST(GgufConfig, architectures_that_are_not_built_are_refused_by_name) {
  for (const char* name : {"gemma2", "gpt2", "gemma3_text", "mistral", "", "Qwen3"}) {
    const Error error = error_of(SmallModel{.architecture = name, .without = {}}.file());
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << name;
    EXPECT_EQ(error.field, "general.architecture");
    EXPECT_NE(error.message.find('"' + std::string(name) + '"'), std::string::npos);
    EXPECT_EQ(error.message.find("a hybrid"), std::string::npos);
  }
  for (const char* name : {"mamba2", "jamba", "falcon-h1", "nemotron_h", "rwkv7"}) {
    const Error error = error_of(SmallModel{.architecture = name, .without = {}}.file());
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << name;
    EXPECT_NE(error.message.find("recurrent or a hybrid"), std::string::npos);
  }
  for (const char* name : {"deepseek2", "phimoe", "llama4"}) {
    const Error error = error_of(SmallModel{.architecture = name, .without = {}}.file());
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << name;
    EXPECT_NE(error.message.find("a mixture of experts"), std::string::npos);
  }
  EXPECT_EQ(error_of(SmallModel{.without = {"general.architecture"}}.file()).code,
            ErrorCode::kNotFound);
}

TEST(GgufConfig, what_changes_the_arithmetic_is_refused) {
  const auto refused = [](const std::string& key, const std::function<void(GgufWriter&)>& add,
                          const char* without = "") {
    const Error error = error_of(SmallModel{.without = {without}}.file(add));
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << key;
    EXPECT_EQ(error.field, key) << error.to_string();
  };
  refused("qwen3.expert_count", [](GgufWriter& w) { w.u32("qwen3.expert_count", 8); });
  refused("qwen3.attention.scale", [](GgufWriter& w) { w.f32("qwen3.attention.scale", 0.1f); });
  refused("qwen3.logit_scale", [](GgufWriter& w) { w.f32("qwen3.logit_scale", 2); });
  refused("qwen3.attention.causal", [](GgufWriter& w) { w.flag("qwen3.attention.causal", false); });
  refused("qwen3.rope.dimension_count",
          [](GgufWriter& w) { w.u32("qwen3.rope.dimension_count", 8); });
  refused(
      "qwen3.attention.value_length",
      [](GgufWriter& w) { w.u32("qwen3.attention.value_length", 8); }, "attention.value_length");
  refused("qwen3.rope.scaling.type",
          [](GgufWriter& w) { w.text("qwen3.rope.scaling.type", "longrope"); });
  refused("qwen3.attention.sliding_window",
          [](GgufWriter& w) { w.u32("qwen3.attention.sliding_window", 64); });
  refused("rope_freqs.weight", [](GgufWriter& w) {
    w.tensor("rope_freqs.weight", {8}, kGgmlF32, encode_values({1, 1, 1, 1, 2, 2, 2, 4}, kGgmlF32));
  });
}

TEST(GgufConfig, reads_the_keys_of_granite_and_of_nobody_else) {
  const auto granite = [](const std::function<void(GgufWriter&)>& add) {
    return config_of(SmallModel{.architecture = "granite", .without = {}}.file(add));
  };
  const auto config = granite([](GgufWriter& out) {
    out.f32("granite.attention.scale", 0.5f).f32("granite.embedding_scale", 12);
    out.f32("granite.residual_scale", 0.25f).f32("granite.logit_scale", 8);
  });
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->attention_scale, 0.5f);
  EXPECT_EQ(config->embedding_multiplier, 12);
  EXPECT_EQ(config->residual_multiplier, 0.25f);
  EXPECT_EQ(config->logit_multiplier, 0.125f);
  EXPECT_EQ(granite({})->attention_scale, 0.25f) << "1 / sqrt(16)";
  for (const char* key : {"attention.scale", "embedding_scale", "residual_scale", "logit_scale"}) {
    const std::string name = "granite." + std::string(key);
    const auto bad = granite([&](GgufWriter& out) { out.f32(name, 0); });
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().field, name);
  }
}

TEST(GgufConfig, reads_the_keys_of_gemma) {
  const auto gemma = [](const std::function<void(GgufWriter&)>& add) {
    return config_of(SmallModel{.architecture = "gemma3", .without = {}}.file(add));
  };
  const auto config = gemma([](GgufWriter& out) {
    out.u32("gemma3.attention.sliding_window", 100).f32("gemma3.final_logit_softcapping", 30);
    out.f32("gemma3.rope.freq_base_swa", 2e4f).u32("gemma3.attention.sliding_window_pattern", 2);
  });
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->model_type, "gemma3_text");
  EXPECT_EQ(config->window, std::vector<int>({100}));
  EXPECT_EQ(config->local_rope.theta, 2e4);
  EXPECT_EQ(config->logit_soft_cap, 30);
  EXPECT_EQ(config->attention_scale, 0.25f);
  EXPECT_FALSE(config->norms_add_one) << "files hold the sums";
  EXPECT_EQ(gemma([](GgufWriter& out) {
              out.u32("gemma3.attention.sliding_window", 100);
            })->local_rope.theta,
            1e4);
  const auto plain = gemma({});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->window, std::vector<int>({0}));
  EXPECT_EQ(plain->layer_rope, std::vector<LayerRope>({LayerRope::kMain}));
  for (const char* key : {"attention.sliding_window", "attention.sliding_window_pattern"}) {
    const std::string name = "gemma3." + std::string(key);
    const auto bad = gemma([&](GgufWriter& out) {
      out.u32(name, 0);
      if (name.ends_with("pattern")) out.u32("gemma3.attention.sliding_window", 100);
    });
    ASSERT_FALSE(bad.ok()) << name;
    EXPECT_EQ(bad.error().field, name);
  }
}

TEST(GgufConfig, reads_the_keys_of_phi) {
  const auto phi = [](const std::function<void(GgufWriter&)>& add) {
    return config_of(SmallModel{.architecture = "phi3", .without = {}}.file(add));
  };
  const auto part = phi([](GgufWriter& out) {
    out.u32("phi3.rope.dimension_count", 12).u32("phi3.attention.sliding_window", 64);
    out.u32("phi3.rope.scaling.original_context_length", 256);
  });
  ASSERT_TRUE(part.ok()) << part.error().to_string();
  EXPECT_EQ(part->rope.rotary_dim(16), 12);
  EXPECT_EQ(part->rope.scaling, RopeScaling::kNone);
  EXPECT_EQ(part->window, std::vector<int>({64}));
  EXPECT_EQ(phi([](GgufWriter& out) { out.u32("phi3.attention.sliding_window", 0); })->window,
            std::vector<int>({0}));

  const auto longrope = [&](std::vector<float> longer, uint32_t original, bool both = true) {
    return phi([&](GgufWriter& out) {
      out.u32("phi3.rope.scaling.original_context_length", original);
      out.f32("phi3.rope.scaling.attn_factor", 1.25f);
      out.tensor("rope_factors_long.weight", {longer.size()}, kGgmlF32,
                 encode_values(longer, kGgmlF32));
      const std::vector<float> shorter(longer.size(), 1.0f);
      if (!both) return;
      out.tensor("rope_factors_short.weight", {longer.size()}, kGgmlF32,
                 encode_values(shorter, kGgmlF32));
    });
  };
  const std::vector<float> longer = {1, 2, 3, 4, 5, 6, 7, 8.5f};
  const auto config = longrope(longer, 128);
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->rope.divisors, longer);
  EXPECT_EQ(config->rope.attention_factor, 1.25);
  EXPECT_EQ(longrope(longer, 256)->rope.divisors, std::vector<float>(8, 1.0f));
  EXPECT_EQ(longrope({1, 2}, 128).error().field, "rope_factors_long.weight");
  EXPECT_EQ(longrope({1, 2, 3, 4, 5, 6, 7, -1}, 128).error().field, "rope_factors_long.weight");
  EXPECT_EQ(longrope(longer, 128, false).error().field, "rope_factors_short.weight");
}

TEST(GgufConfig, smollm_does_not_rotate_every_fourth_layer) {
  const auto config =
      config_of(SmallModel{.architecture = "smollm3", .without = {"block_count"}}.file(
          [](GgufWriter& out) { out.u32("smollm3.block_count", 5); }));
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  for (size_t layer = 0; layer < 5; ++layer) {
    EXPECT_EQ(config->layer_rope[layer], layer == 3 ? LayerRope::kNone : LayerRope::kMain);
  }
}

TEST(GgufConfig, missing_and_ill_typed_keys_are_named) {
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length",
                          "context_length", "attention.head_count"}) {
    const Error error = error_of(SmallModel{.without = {key}}.file());
    EXPECT_EQ(error.field, "qwen3." + std::string(key));
    EXPECT_NE(error.message.find("(in m.gguf)"), std::string::npos) << error.message;
    const Error text = error_of(SmallModel{.without = {key}}.file(
        [&](GgufWriter& out) { out.text("qwen3." + std::string(key), "32"); }));
    EXPECT_EQ(text.code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(text.field, "qwen3." + std::string(key));
  }
  EXPECT_EQ(error_of(SmallModel{.without = {"theta"}}.file()).field, "qwen3.rope.freq_base");
  EXPECT_EQ(error_of(SmallModel{.without = {"epsilon"}}.file()).field,
            "qwen3.attention.layer_norm_rms_epsilon");
}

TEST(GgufConfig, reads_scalings_of_rope) {
  const auto linear = config_of(SmallModel().file([](GgufWriter& out) {
    out.text("qwen3.rope.scaling.type", "linear").f32("qwen3.rope.scaling.factor", 4);
  }));
  ASSERT_TRUE(linear.ok()) << linear.error().to_string();
  EXPECT_EQ(linear->rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(linear->rope.factor, 4);
  const auto yarn = config_of(SmallModel().file([](GgufWriter& out) {
    out.text("qwen3.rope.scaling.type", "yarn").f32("qwen3.rope.scaling.factor", 2);
    out.u32("qwen3.rope.scaling.original_context_length", 128);
  }));
  ASSERT_TRUE(yarn.ok()) << yarn.error().to_string();
  EXPECT_EQ(yarn->rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(yarn->rope.original_context, 128);
  // A window as long as the context counts as no window.
  EXPECT_EQ(config_of(SmallModel().file([](GgufWriter& out) {
              out.u32("qwen3.attention.sliding_window", 256);
            }))->window,
            std::vector<int>({0}));
}

TEST(GgufConfig, end_tokens_and_sampling) {
  TemporaryFolder folder;
  const auto model = read_gguf_model(
      folder.write("m.gguf", SmallModel{.without = {"eos"}}.file([](GgufWriter& out) {
        out.u32("tokenizer.ggml.eos_token_id", 7).u32("tokenizer.ggml.eot_token_id", 9);
        out.f32("general.sampling.temp", 0.5f);
        out.number<int32_t>("general.sampling.top_k", GgufValueType::kI32, 20);
      })));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->generation.end_tokens, (std::vector<int32_t>{7, 9, 258}));
  EXPECT_TRUE(model->generation.do_sample);
  EXPECT_EQ(model->generation.temperature, 0.5);
  EXPECT_EQ(model->generation.top_k, 20);
  const auto plain = read_gguf_model(folder.write("p.gguf", SmallModel().file()));
  EXPECT_FALSE(plain->generation.do_sample);
  EXPECT_EQ(plain->generation.end_tokens, std::vector<int32_t>({258}));
}

}  // namespace
}  // namespace cascade::testing
