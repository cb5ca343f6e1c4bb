// The angles of rows are those of the tables of RoPE.
#include "model/rope_angles.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade {
namespace {

// The first layer has plain RoPE, the second one of heads of half the size.
ModelConfig two_ropes() {
  ModelConfig config;
  config.layers = 2;
  config.query_heads = 1;
  config.rope.theta = 1e6;
  config.local_rope.theta = 1e4;
  config.layer_rope = {LayerRope::kMain, LayerRope::kLocal};
  config.attention_shapes = {{1, 64, 0}, {1, 32, 1}};
  return config;
}

TEST(RopeAngles, are_those_of_each_kind_of_layers) {
  const ModelConfig config = two_ropes();
  RopeAngles angles(config, 3);
  for (int row = 0; row < 3; ++row) angles.set(row, 1000 * row + 7);
  for (const LayerRope kind : {LayerRope::kMain, LayerRope::kLocal}) {
    const bool is_main = kind == LayerRope::kMain;
    const RopeTable table(is_main ? config.rope : config.local_rope, is_main ? 64 : 32);
    const size_t pairs = is_main ? 32 : 16;
    for (int row = 0; row < 3; ++row) {
      std::vector<float> cos(pairs), sin(pairs);
      table.angles(1000 * row + 7, cos.data(), sin.data());
      for (size_t i = 0; i < pairs; ++i) {
        EXPECT_EQ(angles.cos(kind, row)[i], cos[i]);
        EXPECT_EQ(angles.sin(kind, row)[i], sin[i]);
      }
    }
  }
}

TEST(RopeAngles, take_no_memory_for_a_rope_that_no_layer_has) {
  ModelConfig config = two_ropes();
  const size_t both = RopeAngles::bytes(config, 10);
  config.layer_rope = {LayerRope::kMain, LayerRope::kMain};
  config.attention_shapes = {{1, 64, 0}, {1, 64, 1}};
  EXPECT_EQ(RopeAngles::bytes(config, 10) * 2, both);
}

}  // namespace
}  // namespace cascade
