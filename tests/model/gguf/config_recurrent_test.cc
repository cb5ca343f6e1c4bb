// The metadata of hybrids.
#include "model/gguf/config_recurrent.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/gguf/model.h"
#include "tests/model/gguf/small_model.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

// A file of four layers. Tests change its keys, which follow the name of the architecture.
struct HybridFile {
  std::string architecture;
  std::map<std::string, uint32_t> keys;
  std::map<std::string, std::vector<int32_t>> lists = {};
  std::map<std::string, std::vector<uint8_t>> flags = {};

  Result<ModelConfig> read(const std::function<void(GgufWriter&)>& add = {}) const {
    TemporaryFolder folder;
    SmallModel model = {.architecture = architecture,
                        .without = {"block_count", "feed_forward_length", "attention.head_count_kv",
                                    "attention.key_length", "attention.value_length"}};
    const std::string prefix = architecture + ".";
    return read_gguf_config(folder.write("m.gguf", model.file([&](GgufWriter& out) {
      for (const auto& [name, value] : keys) out.u32(prefix + name, value);
      for (const auto& [name, values] : lists) {
        out.numbers(prefix + name, GgufValueType::kI32, values);
      }
      for (const auto& [name, values] : flags) {
        out.numbers(prefix + name, GgufValueType::kBool, values);
      }
      if (add) add(out);
    })));
  }
};

HybridFile qwen_file(const std::string& architecture) {
  HybridFile file = {.architecture = architecture,
                     .keys = {{"block_count", 4},
                              {"feed_forward_length", 64},
                              {"attention.head_count_kv", 1},
                              {"attention.key_length", 16},
                              {"attention.value_length", 16},
                              {"rope.dimension_count", 4},
                              {"ssm.conv_kernel", 4},
                              {"ssm.state_size", 16},
                              {"ssm.group_count", 2},
                              {"ssm.time_step_rank", 4},
                              {"ssm.inner_size", 96}}};
  if (architecture == "qwen35") return file;
  file.keys.insert({{"expert_count", 8},
                    {"expert_used_count", 2},
                    {"expert_feed_forward_length", 24},
                    {"expert_shared_feed_forward_length", 40}});
  return file;
}

HybridFile granite_file() {
  return {.architecture = "granitehybrid",
          .keys = {{"block_count", 4},
                   {"feed_forward_length", 64},
                   {"ssm.conv_kernel", 4},
                   {"ssm.state_size", 16},
                   {"ssm.group_count", 1},
                   {"ssm.time_step_rank", 4},
                   {"ssm.inner_size", 64}},
          .lists = {{"attention.head_count_kv", {0, 2, 0, 2}}}};
}

HybridFile lfm2_file(const std::string& architecture) {
  HybridFile file = {
      .architecture = architecture,
      .keys = {{"block_count", 4}, {"feed_forward_length", 64}, {"shortconv.l_cache", 3}},
      .lists = {{"attention.head_count_kv", {0, 0, 1, 0}}}};
  if (architecture == "lfm2") return file;
  file.keys.insert({{"expert_count", 8},
                    {"expert_used_count", 2},
                    {"expert_feed_forward_length", 24},
                    {"expert_gating_func", 2},
                    {"leading_dense_block_count", 1}});
  return file;
}

void expect_hybrid_refused(const HybridFile& file, const std::string& key) {
  const auto config = file.read();
  ASSERT_FALSE(config.ok()) << key;
  EXPECT_EQ(config.error().field, file.architecture + "." + key) << config.error().to_string();
}

// Each key is missing, 0, or much too large.
void expect_hybrid_needs(const HybridFile& file, const std::vector<std::string>& keys) {
  ASSERT_TRUE(file.read().ok()) << file.read().error().to_string();
  for (const std::string& key : keys) {
    SCOPED_TRACE(file.architecture + "." + key);
    HybridFile other = file;
    other.keys.erase(key);
    expect_hybrid_refused(other, key);
    for (const uint32_t value : {0u, 2'147'483'640u, 4'294'967'295u}) {
      other.keys[key] = value;
      expect_hybrid_refused(other, key);
    }
  }
}

TEST(GgufHybridConfig, of_qwen_has_an_interval_and_sizes_of_the_delta_rule) {
  for (const char* architecture : {"qwen35", "qwen35moe", "qwen3next"}) {
    SCOPED_TRACE(architecture);
    const auto config = qwen_file(architecture).read();
    ASSERT_TRUE(config.ok()) << config.error().to_string();
    const RecurrentConfig expected = {.layers = {true, true, true, false},
                                      .kind = Recurrence::kDeltaNet,
                                      .taps = 4,
                                      .channels = 160,
                                      .key_heads = 2,
                                      .value_heads = 4,
                                      .key_dim = 16,
                                      .value_dim = 24,
                                      .tiled_heads = std::string(architecture) != "qwen3next",
                                      .has_rates = true};
    EXPECT_EQ(config->recurrent, expected);
    EXPECT_EQ(config->rope.rotary_dim(16), 4);
    EXPECT_FALSE(config->norms_add_one);
    expect_hybrid_needs(qwen_file(architecture),
                        {"ssm.conv_kernel", "ssm.state_size", "ssm.group_count",
                         "ssm.time_step_rank", "ssm.inner_size"});
  }
  HybridFile file = qwen_file("qwen35");
  file.keys["full_attention_interval"] = 2;
  EXPECT_EQ(file.read()->recurrent.layers, std::vector<bool>({true, false, true, false}));
  file.flags["attention.recurrent_layers"] = {0, 1, 1, 0};
  EXPECT_EQ(file.read()->recurrent.layers, std::vector<bool>({false, true, true, false}));
  file.keys.erase("attention.key_length");
  EXPECT_EQ(file.read()->head_dim, 16) << "hidden size by heads";
}

TEST(GgufHybridConfig, of_qwen_without_a_layer_that_attends_is_refused) {
  HybridFile file = qwen_file("qwen35");
  for (const uint32_t interval : {0u, 5u, 4'294'967'295u}) {
    file.keys["full_attention_interval"] = interval;
    expect_hybrid_refused(file, "full_attention_interval");
  }
  for (const std::vector<uint8_t>& list :
       std::vector<std::vector<uint8_t>>{{1, 1, 1, 1}, {0, 1, 1}, {0, 1, 1, 1, 1}, {}}) {
    file.flags["attention.recurrent_layers"] = list;
    expect_hybrid_refused(file, "attention.recurrent_layers");
  }
  file.flags.clear();
  file.keys["attention.recurrent_layers"] = 1;
  expect_hybrid_refused(file, "attention.recurrent_layers");
}

TEST(GgufHybridConfig, heads_that_do_not_fit_are_refused) {
  HybridFile file = qwen_file("qwen3next");
  file.keys["ssm.group_count"] = 3;
  expect_hybrid_refused(file, "ssm.group_count");
  file = qwen_file("qwen3next");
  file.keys["ssm.inner_size"] = 98;
  expect_hybrid_refused(file, "ssm.inner_size");
  file = granite_file();
  file.keys["ssm.inner_size"] = 80;
  expect_hybrid_refused(file, "ssm.inner_size");
}

TEST(GgufHybridConfig, layers_that_only_predict_further_tokens_do_not_count) {
  for (const char* architecture : {"qwen35", "qwen35moe"}) {
    HybridFile file = qwen_file(architecture);
    file.keys["nextn_predict_layers"] = 1;
    file.keys["block_count"] = 5;
    const auto config = file.read();
    ASSERT_TRUE(config.ok()) << config.error().to_string();
    EXPECT_EQ(config->layers, 4);
    EXPECT_EQ(config->recurrent.layers, std::vector<bool>({true, true, true, false}));
    file.flags["attention.recurrent_layers"] = {1, 0, 1, 0, 0};
    EXPECT_EQ(file.read()->recurrent.layers, std::vector<bool>({true, false, true, false}));
    for (const uint32_t drafts : {5u, 6u, 4'294'967'295u}) {
      file.keys["nextn_predict_layers"] = drafts;
      expect_hybrid_refused(file, "nextn_predict_layers");
    }
  }
}

TEST(GgufHybridConfig, layers_without_kv_heads_are_recurrent) {
  for (HybridFile file : {lfm2_file("lfm2"), lfm2_file("lfm2moe"), granite_file()}) {
    SCOPED_TRACE(file.architecture);
    constexpr const char* kHeads = "attention.head_count_kv";
    for (const std::vector<int32_t>& list : std::vector<std::vector<int32_t>>{{0, 0, 0, 0},
                                                                              {0, 1, 0, 2},
                                                                              {0, 1, 0, -1},
                                                                              {0, 1, 0},
                                                                              {0, 0, 0, 0, 1},
                                                                              {},
                                                                              {0, 3, 0, 3}}) {
      file.lists[kHeads] = list;
      expect_hybrid_refused(file, kHeads);
    }
    file.lists[kHeads] = {0, 1, 0, 0};
    const auto config = file.read();
    ASSERT_TRUE(config.ok()) << config.error().to_string();
    EXPECT_EQ(config->recurrent.layers, std::vector<bool>({true, false, true, true}));
    EXPECT_EQ(config->kv_heads, 1);
    file.lists.clear();
    file.keys[kHeads] = 1;
    EXPECT_TRUE(file.read()->recurrent.layers.empty());
    for (const uint32_t heads : {0u, 3u, 4'294'967'295u}) {
      file.keys[kHeads] = heads;
      expect_hybrid_refused(file, kHeads);
    }
  }
}

TEST(GgufHybridConfig, of_lfm2_has_taps_and_the_width_as_it_is) {
  const auto config = lfm2_file("lfm2").read();
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  const RecurrentConfig expected = {.layers = {true, true, false, true},
                                    .kind = Recurrence::kConvolution,
                                    .taps = 3,
                                    .channels = 32};
  EXPECT_EQ(config->recurrent, expected);
  EXPECT_EQ(config->intermediate_size, 64);
  EXPECT_EQ(config->rms_norm_eps, 1e-6f);
  expect_hybrid_needs(lfm2_file("lfm2"), {"shortconv.l_cache", "feed_forward_length"});
  expect_hybrid_needs(lfm2_file("lfm2moe"),
                      {"shortconv.l_cache", "expert_count", "expert_feed_forward_length"});
  const auto biased = lfm2_file("lfm2").read([](GgufWriter& out) {
    out.tensor("blk.0.shortconv.conv.bias", {32}, kGgmlF32, std::string(128, '\0'));
  });
  EXPECT_TRUE(biased->recurrent.convolution_bias && biased->recurrent.projection_bias);
}

TEST(GgufHybridConfig, of_granite_has_sizes_of_mamba) {
  const auto config = granite_file().read();
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  RecurrentConfig expected = {.layers = {true, false, true, false},
                              .kind = Recurrence::kMamba,
                              .taps = 4,
                              .channels = 96,
                              .key_heads = 1,
                              .value_heads = 4,
                              .key_dim = 16,
                              .value_dim = 16,
                              .has_rates = true};
  EXPECT_EQ(config->recurrent, expected);
  EXPECT_EQ(config->intermediate_size, 64);
  EXPECT_EQ(config->layer_rope[1], LayerRope::kMain);
  EXPECT_EQ(config->attention_scale, 0.25f) << "1 / sqrt(16)";
  expect_hybrid_needs(granite_file(),
                      {"ssm.conv_kernel", "ssm.state_size", "ssm.group_count", "ssm.time_step_rank",
                       "ssm.inner_size", "feed_forward_length"});
  const auto other = granite_file().read([](GgufWriter& out) {
    out.u32("granitehybrid.expert_shared_feed_forward_length", 40);
    out.flag("granitehybrid.rope.scaling.finetuned", false);
    out.f32("granitehybrid.logit_scale", 8);
    out.tensor("blk.0.ssm_conv1d.bias", {96}, kGgmlF32, std::string(384, '\0'));
    out.tensor("blk.1.attn_output.bias", {32}, kGgmlF32, std::string(128, '\0'));
  });
  ASSERT_TRUE(other.ok()) << other.error().to_string();
  EXPECT_EQ(other->intermediate_size, 40);
  EXPECT_EQ(other->layer_rope, std::vector<LayerRope>(4, LayerRope::kNone));
  EXPECT_EQ(other->logit_multiplier, 0.125f);
  expected.convolution_bias = true;
  EXPECT_EQ(other->recurrent, expected);
  EXPECT_TRUE(other->qkv_bias && other->output_bias);
}

TEST(GgufHybridConfig, mixtures) {
  const auto of_qwen = qwen_file("qwen3next").read();
  MixtureConfig expected = {.layers = {false, false, false, false},
                            .experts = 8,
                            .chosen = 2,
                            .intermediate_size = 24,
                            .shared_intermediate_size = 40,
                            .shared_gate = true,
                            .normalizes = true,
                            .names = ExpertNames::kQwen2};
  EXPECT_EQ(of_qwen->mixture, expected) << "no layer has a router";
  expected.layers.assign(4, true);
  HybridFile file = qwen_file("qwen35moe");
  file.keys.erase("feed_forward_length");
  EXPECT_EQ(file.read()->mixture, expected);
  for (const char* architecture : {"qwen35moe", "qwen3next"}) {
    expect_hybrid_needs(qwen_file(architecture),
                        {"expert_count", "expert_used_count", "expert_feed_forward_length",
                         "expert_shared_feed_forward_length"});
  }
  const auto of_lfm2 = lfm2_file("lfm2moe").read(
      [](GgufWriter& out) { out.f32("lfm2moe.expert_weights_scale", 1.5f); });
  ASSERT_TRUE(of_lfm2.ok()) << of_lfm2.error().to_string();
  EXPECT_EQ(of_lfm2->mixture.layers, std::vector<bool>({false, true, true, true}));
  EXPECT_EQ(of_lfm2->mixture.scale, 1.5f);
  EXPECT_EQ(of_lfm2->mixture.score, RouterScore::kSigmoid);
  file = granite_file();
  file.keys.insert({{"expert_count", 8}, {"expert_used_count", 2}});
  expect_hybrid_refused(file, "expert_shared_feed_forward_length");
  file.keys["expert_shared_feed_forward_length"] = 40;
  EXPECT_EQ(file.read()->mixture.shared_intermediate_size, 40);
  for (HybridFile other : {qwen_file("qwen35moe"), lfm2_file("lfm2moe"), file}) {
    other.keys["expert_gating_func"] = 3;
    expect_hybrid_refused(other, "expert_gating_func");
    other.keys.erase("expert_gating_func");
    other.keys["expert_group_count"] = 2;
    expect_hybrid_refused(other, "expert_group_count");
  }
  for (HybridFile other : {qwen_file("qwen35"), lfm2_file("lfm2")}) {
    other.keys["expert_count"] = 8;
    expect_hybrid_refused(other, "expert_count");
  }
}

TEST(GgufHybridConfig, other_keys_are_needed_as_in_other_architectures) {
  for (HybridFile file : {qwen_file("qwen35"), lfm2_file("lfm2"), granite_file()}) {
    for (const uint32_t blocks : {0u, 5000u, 4'294'967'295u}) {
      file.keys["block_count"] = blocks;
      expect_hybrid_refused(file, "block_count");
    }
  }
}

}  // namespace
}  // namespace cascade::testing
