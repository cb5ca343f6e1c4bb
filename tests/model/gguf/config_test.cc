// What the metadata says about the model, and what is refused by name.
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
  EXPECT_TRUE(config->qk_norm);
  EXPECT_TRUE(config->tied_embeddings);
  EXPECT_EQ(config->rope.theta, 1e4);
  const auto untied = config_of(SmallModel().file([](GgufWriter& out) {
    out.tensor("output.weight", {32, 260}, kGgmlF32, std::string(32 * 260 * 4, '\0'));
  }));
  EXPECT_FALSE(untied->tied_embeddings);
}

TEST(GgufConfig, architectures_that_are_not_built_are_refused_by_name) {
  for (const char* name : {"gemma3", "phi3", "qwen3moe", "gpt2", "mistral3", "", "Qwen3"}) {
    const Error error = error_of(SmallModel{.architecture = name, .without = {}}.file());
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << name;
    EXPECT_EQ(error.field, "general.architecture");
    EXPECT_NE(error.message.find('"' + std::string(name) + '"'), std::string::npos);
    EXPECT_EQ(error.message.find("hybrid"), std::string::npos);
  }
  for (const char* name : {"qwen35", "qwen3next", "mamba2", "lfm2", "jamba", "granitehybrid"}) {
    const Error error = error_of(SmallModel{.architecture = name, .without = {}}.file());
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << name;
    EXPECT_NE(error.message.find("recurrent or a hybrid"), std::string::npos);
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
  // A window that reaches as far as the context is none.
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
