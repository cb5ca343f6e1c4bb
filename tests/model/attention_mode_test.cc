// Attention modes of layers.
#include "model/attention_mode.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade {
namespace {

TEST(LayerMode, of_a_layer_is_the_layers_own_window_if_it_has_one) {
  EXPECT_EQ(layer_mode({100, 5}, 0), (AttentionMode{100, 5}));
  EXPECT_EQ(layer_mode({100, 5}, 50), (AttentionMode{50, 0}));
  EXPECT_EQ(layer_mode({100, 5}, 200), (AttentionMode{200, 0}));
  EXPECT_EQ(layer_mode({}, 200), (AttentionMode{200, 0}));
}

TEST(LayerMode, the_widest_sees_what_any_layer_sees) {
  EXPECT_EQ(widest_mode({100, 5}, {}), (AttentionMode{100, 5}));
  EXPECT_EQ(widest_mode({100, 5}, std::vector{0, 50}), (AttentionMode{100, 5}));
  EXPECT_EQ(widest_mode({100, 5}, std::vector{0, 200}), (AttentionMode{200, 5}));
  EXPECT_EQ(widest_mode({100, 5}, std::vector{80, 80}), (AttentionMode{80, 5}));
  EXPECT_EQ(widest_mode({100, 5}, std::vector{16, 16}), (AttentionMode{64, 5})) << "a page";
  EXPECT_EQ(widest_mode({}, std::vector{0, 200}), AttentionMode{});
}

}  // namespace
}  // namespace cascade
