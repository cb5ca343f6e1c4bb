// The metadata of mixtures of experts.
#include "model/gguf/config_mixture.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/gguf/model.h"
#include "tests/model/gguf/small_model.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

using Write = std::function<void(GgufWriter&)>;

// The configuration of a model with eight experts, of which a token uses two.
Result<ModelConfig> mixture_of(const std::string& architecture, const Write& write = {},
                               const char* without = "") {
  TemporaryFolder folder;
  const std::string file =
      SmallModel{.architecture = architecture, .without = {without}}.file([&](GgufWriter& out) {
        out.u32(architecture + ".expert_count", 8).u32(architecture + ".expert_used_count", 2);
        out.tensor("blk.0.ffn_gate_inp.weight", {SmallModel::kHidden, 8}, kGgmlF32,
                   std::string(SmallModel::kHidden * 8 * sizeof(float), '\0'));
        if (write) write(out);
      });
  return read_gguf_config(folder.write("m.gguf", file));
}

void expect_refused(const std::string& architecture, const std::string& key, const Write& write) {
  const auto config = mixture_of(architecture, write);
  ASSERT_FALSE(config.ok()) << key;
  EXPECT_EQ(config.error().field, architecture + "." + key) << config.error().to_string();
}

TEST(GgufMixture, of_qwen2_has_sizes_that_follow_from_a_dense_layer_if_the_file_has_none) {
  const auto config = mixture_of("qwen2moe");
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  MixtureConfig expected = {.layers = {true},
                            .experts = 8,
                            .chosen = 2,
                            .intermediate_size = SmallModel::kInner / 2,
                            .shared_intermediate_size = SmallModel::kInner,
                            .shared_gate = true,
                            .names = ExpertNames::kQwen2};
  EXPECT_EQ(config->mixture, expected);
  const auto stated = mixture_of("qwen2moe", [](GgufWriter& out) {
    out.u32("qwen2moe.expert_feed_forward_length", 24);
    out.u32("qwen2moe.expert_shared_feed_forward_length", 40);
    out.flag("qwen2moe.expert_weights_norm", true);
  });
  ASSERT_TRUE(stated.ok()) << stated.error().to_string();
  expected.intermediate_size = 24;
  expected.shared_intermediate_size = 40;
  expected.normalizes = true;
  EXPECT_EQ(stated->mixture, expected);
}

TEST(GgufMixture, of_granite_has_a_shared_expert_if_the_file_has_its_size) {
  const auto plain = mixture_of("granitemoe");
  ASSERT_TRUE(plain.ok()) << plain.error().to_string();
  MixtureConfig expected = {.layers = {true},
                            .experts = 8,
                            .chosen = 2,
                            .intermediate_size = SmallModel::kInner,
                            .normalizes = true,
                            .names = ExpertNames::kGranite};
  EXPECT_EQ(plain->mixture, expected);
  EXPECT_EQ(plain->model_type, "granitemoe");
  EXPECT_EQ(plain->attention_scale, 0.25f) << "1 / sqrt(16)";
  const auto shared = mixture_of("granitemoe", [](GgufWriter& out) {
    out.u32("granitemoe.expert_shared_feed_forward_length", 40);
    out.f32("granitemoe.attention.scale", 0.5f).f32("granitemoe.logit_scale", 8);
  });
  ASSERT_TRUE(shared.ok()) << shared.error().to_string();
  expected.shared_intermediate_size = 40;
  EXPECT_EQ(shared->mixture, expected);
  EXPECT_EQ(shared->model_type, "granitemoeshared");
  EXPECT_EQ(shared->attention_scale, 0.5f);
  EXPECT_EQ(shared->logit_multiplier, 0.125f);
}

TEST(GgufMixture, of_olmoe_does_not_normalise_unless_told_so) {
  const auto config = mixture_of("olmoe");
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_FALSE(config->mixture.normalizes);
  EXPECT_EQ(config->mixture.intermediate_size, static_cast<int>(SmallModel::kInner));
  const auto told =
      mixture_of("olmoe", [](GgufWriter& out) { out.flag("olmoe.expert_weights_norm", true); });
  ASSERT_TRUE(told.ok()) << told.error().to_string();
  EXPECT_TRUE(told->mixture.normalizes);
}

TEST(GgufMixture, keys_that_ask_for_another_router_are_refused) {
  for (const std::string architecture : {"granitemoe", "olmoe", "qwen2moe", "qwen3moe", "llama"}) {
    SCOPED_TRACE(architecture);
    const auto refused = [&](const std::string& key, const Write& write) {
      expect_refused(architecture, key, write);
    };
    const std::string prefix = architecture + ".";
    refused("expert_gating_func",
            [&](GgufWriter& out) { out.u32(prefix + "expert_gating_func", 2); });
    refused("expert_group_count",
            [&](GgufWriter& out) { out.u32(prefix + "expert_group_count", 2); });
    refused("expert_weights_scale",
            [&](GgufWriter& out) { out.f32(prefix + "expert_weights_scale", 2); });
    refused("leading_dense_block_count",
            [&](GgufWriter& out) { out.u32(prefix + "leading_dense_block_count", 1); });
  }
  for (const std::string architecture : {"granitemoe", "qwen3moe", "llama"}) {
    expect_refused(architecture, "expert_weights_norm", [&](GgufWriter& out) {
      out.u32(architecture + ".expert_feed_forward_length", 24);
      out.flag(architecture + ".expert_weights_norm", false);
    });
  }
  for (const std::string architecture : {"olmoe", "qwen3moe", "llama"}) {
    expect_refused(architecture, "expert_shared_feed_forward_length", [&](GgufWriter& out) {
      out.u32(architecture + ".expert_shared_feed_forward_length", 24);
    });
  }
}

TEST(GgufMixture, wrong_sizes_are_named_as_the_file_has_them) {
  expect_refused("qwen2moe", "expert_shared_feed_forward_length", [](GgufWriter& out) {
    out.u32("qwen2moe.expert_shared_feed_forward_length", 20);
  });
  expect_refused("granitemoe", "expert_shared_feed_forward_length", [](GgufWriter& out) {
    out.u32("granitemoe.expert_shared_feed_forward_length", 20);
  });
  expect_refused("qwen2moe", "expert_feed_forward_length",
                 [](GgufWriter& out) { out.u32("qwen2moe.expert_feed_forward_length", 0); });
  const std::string odd =
      SmallModel{.architecture = "qwen2moe", .without = {}}.file([](GgufWriter& out) {
        out.u32("qwen2moe.expert_count", 8).u32("qwen2moe.expert_used_count", 3);
      });
  TemporaryFolder folder;
  const auto indivisible = read_gguf_config(folder.write("m.gguf", odd));
  ASSERT_FALSE(indivisible.ok());
  EXPECT_EQ(indivisible.error().to_string(),
            "not_found: qwen2moe.expert_feed_forward_length: is missing, and expert_used_count, 3, "
            "does not divide feed_forward_length, 64 (in m.gguf)");
  for (const char* architecture : {"granitemoe", "olmoe", "qwen2moe"}) {
    const auto config = mixture_of(architecture, {}, "feed_forward_length");
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(config.error().field, std::string(architecture) + ".feed_forward_length");
  }
}

TEST(GgufMixture, of_granite_rotates_unless_the_file_says_otherwise) {
  for (const std::string architecture : {"granite", "granitemoe"}) {
    for (const std::optional<bool> says : {std::optional<bool>(), {true}, {false}}) {
      TemporaryFolder folder;
      const std::string file =
          SmallModel{.architecture = architecture, .without = {}}.file([&](GgufWriter& out) {
            if (architecture == "granitemoe") {
              out.u32("granitemoe.expert_count", 8).u32("granitemoe.expert_used_count", 2);
            }
            if (says) out.flag(architecture + ".rope.scaling.finetuned", *says);
          });
      const auto config = read_gguf_config(folder.write("m.gguf", file));
      ASSERT_TRUE(config.ok()) << config.error().to_string();
      const LayerRope expected = says.value_or(true) ? LayerRope::kMain : LayerRope::kNone;
      EXPECT_EQ(config->layer_rope.front(), expected);
    }
  }
}

// Converters write the number of KV heads of a Granite 4 as a list.
TEST(GgufMixture, may_have_a_list_of_equal_kv_heads) {
  const auto with_list = [](const std::string& architecture, const std::vector<int32_t>& heads) {
    return mixture_of(
        architecture,
        [&](GgufWriter& out) {
          out.numbers(architecture + ".attention.head_count_kv", GgufValueType::kI32, heads);
        },
        "attention.head_count_kv");
  };
  for (const char* architecture : {"granitemoe", "olmoe"}) {
    const auto config = with_list(architecture, {2});
    ASSERT_TRUE(config.ok()) << config.error().to_string();
    EXPECT_EQ(config->kv_heads, 2);
    for (const std::vector<int32_t>& wrong : {std::vector<int32_t>{2, 0}, {}, {3}, {-1}}) {
      const auto refused = with_list(architecture, wrong);
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().field, std::string(architecture) + ".attention.head_count_kv");
    }
  }
}

}  // namespace
}  // namespace cascade::testing
