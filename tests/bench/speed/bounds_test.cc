// The least time of a forward pass, on models that are small enough to count by hand.
#include "bench/speed/bounds.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade::speed {
namespace {

PackedMatrix matrix(WeightType type, int n, int k) {
  return describe_matrix(type, MatrixLayout::kPanels16, n, k);
}

// Two layers of 256 channels, 2 query heads and 1 KV head of 64, an MLP of 128, 32 tokens.
Weights two_layers(WeightType type) {
  Weights weights;
  weights.embedding = matrix(type, 32, 256);
  for (int i = 0; i < 2; ++i) {
    LayerWeights& layer = weights.layers.emplace_back();
    layer.qkv.matrices = {matrix(type, 256, 256)};
    layer.output.matrices = {matrix(type, 256, 128)};
    layer.gate_up.matrices = {matrix(type, 256, 256)};
    layer.down.matrices = {matrix(type, 256, 128)};
  }
  return weights;
}
KvLayout layout_of(int parts, const KvPartLayout& part) {
  KvLayout layout;
  for (int i = 0; i < parts; ++i) layout.append(part);
  return layout;
}

constexpr double kLayerWeights = 256 * 256 + 256 * 128 + 256 * 256 + 256 * 128;
constexpr double kHeadWeights = 32 * 256;

TEST(Bounds, matrices_are_read_once_and_multiplied_for_each_row) {
  const Weights weights = two_layers(WeightType::kF32);
  const Work one = matrix_work({}, weights, 1, 1);
  EXPECT_EQ(one.f32_ops, 2 * (2 * kLayerWeights + kHeadWeights));
  EXPECT_EQ(one.int8_ops, 0);
  EXPECT_EQ(one.bytes, 4 * (2 * kLayerWeights + kHeadWeights));
  const Work many = matrix_work({}, weights, 100, 3);
  EXPECT_EQ(many.f32_ops, 2 * (100 * 2 * kLayerWeights + 3 * kHeadWeights));
  EXPECT_EQ(many.bytes, one.bytes);
}

TEST(Bounds, without_logits_the_head_is_neither_read_nor_multiplied) {
  const Work work = matrix_work({}, two_layers(WeightType::kBf16), 5, 0);
  EXPECT_EQ(work.f32_ops, 5 * 2 * 2 * kLayerWeights);
  EXPECT_EQ(work.bytes, 2 * 2 * kLayerWeights);
}

TEST(Bounds, a_head_of_its_own_counts_instead_of_the_embedding) {
  Weights weights = two_layers(WeightType::kF32);
  weights.head = matrix(WeightType::kF32, 64, 128);
  uint8_t some = 0;
  weights.head.data = &some;  // not read
  EXPECT_EQ(matrix_work({}, weights, 0, 1).f32_ops, 2 * 64 * 128);
}

TEST(Bounds, quantised_matrices_are_integer_operations) {
  // There is one scale of 2 bytes for each 128 weights; int4 also has 4 multipliers of one byte.
  // Panels of 16 channels and 128 weights each have 32 bytes of padding.
  const double weights = 2 * kLayerWeights + kHeadWeights;
  const double padding = 2 * 2 * (256 / 16) * 32;
  const Work int8 = matrix_work({}, two_layers(WeightType::kInt8), 1, 1);
  EXPECT_EQ(int8.f32_ops, 0);
  EXPECT_EQ(int8.int8_ops, 2 * weights);
  EXPECT_EQ(int8.bytes, weights + weights / 128 * 2 + padding);
  const Work int4 = matrix_work({}, two_layers(WeightType::kInt4), 1, 1);
  EXPECT_EQ(int4.int8_ops, 2 * weights);
  EXPECT_EQ(int4.bytes, weights / 2 + weights / 128 * (2 + 2));
}

TEST(Bounds, of_experts_count_those_that_tokens_are_expected_to_choose) {
  Weights weights = two_layers(WeightType::kF32);
  weights.layers.pop_back();
  LayerWeights& layer = weights.layers.front();
  layer.gate_up = layer.down = {};
  layer.mixture = std::make_unique<MixtureWeights>();
  MixtureWeights& mixture = *layer.mixture;
  mixture.router.matrices = {matrix(WeightType::kF32, 16, 256)};
  for (int expert = 0; expert < 5; ++expert) {  // four, and the shared one
    mixture.gate_up.emplace_back().matrices = {matrix(WeightType::kF32, 64, 256)};
    mixture.down.emplace_back().matrices = {matrix(WeightType::kF32, 256, 32)};
  }
  ModelConfig config;
  config.mixture = {.layers = {true}, .experts = 4, .chosen = 2};
  const double expert = 64 * 256 + 256 * 32, others = 256 * 256 + 256 * 128 + 16 * 256;
  const Work one = matrix_work(config, weights, 1, 0);
  EXPECT_DOUBLE_EQ(one.f32_ops, 2 * (others + 3 * expert));
  EXPECT_DOUBLE_EQ(one.bytes, 4 * (others + 3 * expert));
  const Work two = matrix_work(config, weights, 2, 0);
  EXPECT_DOUBLE_EQ(two.f32_ops, 2 * one.f32_ops);
  EXPECT_DOUBLE_EQ(two.bytes, 4 * (others + (1 + 4 * 0.75) * expert));
  EXPECT_EQ(matrix_work(config, weights, 0, 1).f32_ops, 2 * 32 * 256);
}

ModelConfig attention_config(std::vector<int> window) {
  ModelConfig config;
  config.layers = static_cast<int>(window.size());
  config.query_heads = 2;
  config.kv_heads = 1;
  config.head_dim = 64;
  config.window = std::move(window);
  return config;
}
// Operations of one token on one key in one layer: q.k and p.v of two heads.
constexpr double kKeyOps = 2 * 2 * 2 * 64;

TEST(Bounds, a_token_attends_to_all_before_it_and_itself) {
  const ModelConfig config = attention_config({0, 0, 0});
  EXPECT_EQ(attention_work(config, KvType::kF32, 0, 1).f32_ops, 3 * kKeyOps);
  EXPECT_EQ(attention_work(config, KvType::kBf16, 0, 4).f32_ops, 3 * (1 + 2 + 3 + 4) * kKeyOps);
  EXPECT_EQ(attention_work(config, KvType::kFp8, 99, 100).f32_ops, 3 * 100 * kKeyOps);
  EXPECT_EQ(attention_work(config, KvType::kF32, 5, 5).f32_ops, 0);
  EXPECT_EQ(attention_work(config, KvType::kF32, 0, 4).bytes, 0);
}

TEST(Bounds, int8_keys_and_values_are_integer_operations) {
  const Work work = attention_work(attention_config({0}), KvType::kInt8, 0, 2);
  EXPECT_EQ(work.int8_ops, 3 * kKeyOps);
  EXPECT_EQ(work.f32_ops, 0);
}

TEST(Bounds, a_window_hides_older_keys_in_its_layers_only) {
  const ModelConfig config = attention_config({3, 0});
  // Keys seen by tokens 0 to 4: 1, 2, 3, 3, 3 and 1, 2, 3, 4, 5.
  EXPECT_EQ(attention_work(config, KvType::kF32, 0, 5).f32_ops, (12 + 15) * kKeyOps);
  EXPECT_EQ(attention_work(config, KvType::kF32, 1000, 1001).f32_ops, (3 + 1001) * kKeyOps);
}

TEST(Bounds, tokens_that_select_see_chosen_pages_and_all_indexes) {
  const ModelConfig config = attention_config({0, 0});
  const AttentionMode mode = {0, 0, 128, 1};
  // The token is the 11th of page 100, and chooses from the pages 1 to 84.
  const double seen = 2 * 64 + 64 + 15 * 64 + 11;
  const Work work = attention_work(config, KvType::kInt8, 6410, 6411, mode);
  EXPECT_EQ(work.int8_ops, (6411 + seen) * kKeyOps + 84 * 4 * kKeyOps / 2);
  EXPECT_EQ(attention_work(config, KvType::kF32, 1000, 1001, mode).f32_ops, 2 * 1001 * kKeyOps)
      << "there is little to choose from";
  const KvLayout layout = layout_of(
      2,
      {.kv_heads = 1, .key_block_bytes = 640, .value_block_bytes = 640, .page_index_bytes = 140});
  EXPECT_EQ(kv_read_bytes(config, layout, 3, 6410, 0, mode),
            3 * 20 * 6410 + 3 * (84 * 140 + 20 * (seen - 1)));
  EXPECT_EQ(kv_read_bytes(config, layout, 3, 6410, 21 * 64, mode),
            20 * (21 * 64 + 3 * (6410 - 21 * 64)) + (20 + 3 * 64) * 140 + 20 * (seen - 1))
      << "twenty of the candidates are common";
}

TEST(Bounds, parts_of_a_sequence_add_up_to_the_whole) {
  const ModelConfig config = attention_config({7, 0});
  Work parts = attention_work(config, KvType::kF32, 0, 13);
  parts += attention_work(config, KvType::kF32, 13, 40);
  EXPECT_EQ(parts.f32_ops, attention_work(config, KvType::kF32, 0, 40).f32_ops);
}

TEST(Bounds, the_time_is_that_of_reading_or_of_computing) {
  const Peak peak = {.read_bytes_per_s = 10, .f32_flop_per_s = 100, .int8_op_per_s = 400};
  EXPECT_DOUBLE_EQ(bound_s({.bytes = 50}, peak), 5);
  EXPECT_DOUBLE_EQ(bound_s({.f32_ops = 300}, peak), 3);
  EXPECT_DOUBLE_EQ(bound_s({.f32_ops = 300, .int8_ops = 800, .bytes = 40}, peak), 5)
      << "the two kinds of operations one after the other";
  EXPECT_DOUBLE_EQ(bound_s({.f32_ops = 300, .int8_ops = 800, .bytes = 60}, peak), 6)
      << "reading meanwhile";
  EXPECT_EQ(bound_s({}, peak), 0);
}

TEST(Bounds, bytes_of_k_and_v_are_a_tokens_share_of_a_page) {
  const KvLayout layout =
      layout_of(3, {.kv_heads = 2, .key_block_bytes = 64 * 32, .value_block_bytes = 64 * 48});
  EXPECT_EQ(kv_bytes(layout, 1), 3 * 2 * (32 + 48));
  EXPECT_EQ(kv_bytes(layout, 64), static_cast<double>(layout.page_bytes()));
  EXPECT_EQ(kv_bytes(layout, 100), 100 * kv_bytes(layout, 1));
  EXPECT_EQ(kv_bytes(layout, 0), 0);
}

TEST(Bounds, a_step_reads_what_its_windows_show_and_what_is_shared_once) {
  // 8 bytes a token for K, and as many for V.
  const KvLayout layout =
      layout_of(2, {.kv_heads = 1, .key_block_bytes = 64 * 8, .value_block_bytes = 64 * 8});
  ModelConfig config;
  config.window = {0, 0};
  EXPECT_EQ(kv_read_bytes(config, layout, 1, 100, 0), 2 * 16 * 100);
  EXPECT_EQ(kv_read_bytes(config, layout, 4, 100, 0), 4 * 2 * 16 * 100);
  EXPECT_EQ(kv_read_bytes(config, layout, 4, 100, 64), 2 * 16 * (64 + 4 * 36));
  config.window = {0, 10};  // the token itself and 9 before
  EXPECT_EQ(kv_read_bytes(config, layout, 1, 100, 0), 16 * (100 + 9));
  EXPECT_EQ(kv_read_bytes(config, layout, 4, 100, 64), 16 * (64 + 4 * 36 + 4 * 9));
  EXPECT_EQ(kv_read_bytes(config, layout, 4, 100, 96), 16 * (96 + 4 * 4 + 5 + 4 * 4));
}

TEST(RecurrentWork, is_that_of_each_state_and_convolution) {
  RecurrentConfig config;
  EXPECT_EQ(recurrent_work(config, 10, 1).f32_ops, 0) << "no layer is recurrent";
  EXPECT_EQ(recurrent_work(config, 10, 1).bytes, 0);
  config = {.layers = {true, false, true},
            .kind = Recurrence::kDeltaNet,
            .taps = 4,
            .channels = 64,
            .key_heads = 1,
            .value_heads = 2,
            .key_dim = 16,
            .value_dim = 16};
  const double layer_bytes = 4 * (3 * 64 + 2 * 16 * 16);
  EXPECT_EQ(recurrent_work(config, 10, 1).f32_ops, 2 * 10 * (7 * 2 * 16 * 16 + 2 * 4 * 64));
  EXPECT_EQ(recurrent_work(config, 10, 3).bytes, 2 * 3 * 2 * layer_bytes) << "read and written";
  config.kind = Recurrence::kMamba;
  EXPECT_EQ(recurrent_work(config, 1, 1).f32_ops, 2 * (5 * 2 * 16 * 16 + 2 * 4 * 64));
}

}  // namespace
}  // namespace cascade::speed
