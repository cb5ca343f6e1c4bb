// Tests of RoPE scalings that the user chooses.
#include "model/extend_context.h"

#include <gtest/gtest.h>

#include "model/rope.h"
#include "tests/model/config_testing.h"

namespace cascade {
namespace {

using testing::minimal_config;
using testing::parsed_config;
using Type = ContextExtension::Type;

constexpr int kMinimalContext = 4096;  // of minimal_config()

ModelConfig extended(ModelConfig config, const ContextExtension& extension) {
  const Status status = extend_context(extension, config);
  EXPECT_TRUE(status.ok()) << status.error().to_string();
  return config;
}

Json scaled_file(Json rope, int context) {
  Json file = minimal_config();
  file["rope_parameters"] = std::move(rope);
  file["max_position_embeddings"] = context;
  return file;
}

TEST(ExtendContext, gives_what_the_same_scaling_in_the_files_gives) {
  const ModelConfig plain = parsed_config(minimal_config());
  const Json yarn = {{"rope_type", "yarn"},
                     {"rope_theta", 10000.0},
                     {"factor", 4},
                     {"original_max_position_embeddings", kMinimalContext}};
  EXPECT_EQ(extended(plain, {Type::kYarn, 4, 0}),
            parsed_config(scaled_file(yarn, 4 * kMinimalContext)));
  Json trained_shorter = yarn;
  trained_shorter["original_max_position_embeddings"] = 3000;
  EXPECT_EQ(extended(plain, {Type::kYarn, 4, 3000}),
            parsed_config(scaled_file(trained_shorter, 12'000)));
  const Json linear = {{"rope_type", "linear"}, {"rope_theta", 10000.0}, {"factor", 2.5}};
  EXPECT_EQ(extended(plain, {Type::kLinear, 2.5, 0}), parsed_config(scaled_file(linear, 10'240)));
}

TEST(ExtendContext, is_refused_for_a_model_that_does_not_rotate) {
  ModelConfig config = parsed_config(minimal_config());
  config.layer_rope.assign(config.layer_rope.size(), LayerRope::kNone);
  const ModelConfig before = config;
  const Status status = extend_context({Type::kYarn, 4, 0}, config);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().field, "rope_scaling");
  EXPECT_NE(status.error().message.find("no layer of the model rotates"), std::string::npos);
  EXPECT_EQ(config, before);
}

TEST(ExtendContext, replaces_a_yarn_scaling_and_keeps_its_original_context) {
  const Json two = {{"rope_type", "yarn"},
                    {"rope_theta", 10000.0},
                    {"factor", 2},
                    {"original_max_position_embeddings", 2048}};
  Json eight = two;
  eight["factor"] = 8;
  EXPECT_EQ(extended(parsed_config(scaled_file(two, kMinimalContext)), {Type::kYarn, 8, 0}),
            parsed_config(scaled_file(eight, 8 * 2048)));
}

TEST(ExtendContext, of_a_linear_scaling_needs_the_original_context) {
  const Json two = {{"rope_type", "linear"}, {"rope_theta", 10000.0}, {"factor", 2}};
  ModelConfig config = parsed_config(scaled_file(two, kMinimalContext));
  const ModelConfig before = config;
  const Status status = extend_context({Type::kLinear, 4, 0}, config);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().field, "rope_scaling");
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(config, before);
  EXPECT_EQ(extended(before, {Type::kLinear, 4, 2048}).context_tokens_max, 8192);
}

TEST(ExtendContext, does_not_replace_scalings_of_other_types) {
  const Json llama3 = {{"rope_type", "llama3"}, {"rope_theta", 10000.0},
                       {"factor", 8},           {"low_freq_factor", 1},
                       {"high_freq_factor", 4}, {"original_max_position_embeddings", 2048}};
  ModelConfig config = parsed_config(scaled_file(llama3, kMinimalContext));
  const ModelConfig before = config;
  const Status status = extend_context({Type::kYarn, 4, 2048}, config);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().field, "rope_scaling");
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(config, before);
}

TEST(ExtendContext, makes_no_context_shorter) {
  ModelConfig config = parsed_config(minimal_config());
  const ModelConfig before = config;
  const Status status = extend_context({Type::kYarn, 4, kMinimalContext / 4 - 1}, config);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().field, "rope_scaling");
  EXPECT_EQ(status.error().message,
            "gives a context of 4092 tokens, less than the 4096 that the model's files say; give a "
            "larger factor");
  EXPECT_EQ(config, before);
}

TEST(ExtendContext, gives_no_longer_contexts_than_we_serve) {
  const ModelConfig config =
      extended(parsed_config(minimal_config()), {Type::kYarn, 1000, 1 << 24});
  EXPECT_EQ(config.context_tokens_max, kContextServedMax);
}

TEST(ExtendContext, leaves_layers_with_a_rope_of_their_own_alone) {
  ModelConfig config = parsed_config(minimal_config());
  config.local_rope.theta = 10'000;
  const ModelConfig longer = extended(config, {Type::kYarn, 4, 0});
  EXPECT_EQ(longer.local_rope, config.local_rope);
  EXPECT_EQ(longer.rope.scaling, RopeScaling::kYarn);
}

// The fastest dimension keeps its angles, the slowest is stretched by the factor.
TEST(ExtendContext, by_yarn_stretches_slow_dimensions_only) {
  const ModelConfig plain = parsed_config(minimal_config());
  const RopeTable before(plain.rope, 16);
  const RopeTable after(extended(plain, {Type::kYarn, 4, 0}).rope, 16);
  EXPECT_EQ(after.frequencies().front(), before.frequencies().front());
  EXPECT_DOUBLE_EQ(after.frequencies().back(), before.frequencies().back() / 4);
}

}  // namespace
}  // namespace cascade
