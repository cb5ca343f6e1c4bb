// The values of weights of any type, in f32.
#include "bench/eval/weight_values.h"

#include <gtest/gtest.h>

#include "model/model.h"
#include "tests/shared_dir.h"

namespace cascade::eval {
namespace {

std::unique_ptr<Model> model_with(WeightType type) {
  ThreadPool pool(2);
  auto model = load_model(testing::demo_model_dir(), {.weight_type = type}, pool);
  EXPECT_TRUE(model.ok());
  return *std::move(model);
}

std::vector<float> row_of(const PackedMatrix& matrix, int channel) {
  std::vector<float> row(static_cast<size_t>(matrix.k));
  get_row(matrix, channel, row.data());
  return row;
}

// Channel number `channel` of all that is stacked.
std::vector<float> row_of(const StackedMatrix& stack, int channel) {
  for (const PackedMatrix& matrix : stack.matrices) {
    if (channel < matrix.n_padded) return row_of(matrix, channel);
    channel -= matrix.n_padded;
  }
  return {};
}

TEST(WeightValues, of_every_type_are_copied_to_f32_without_rounding) {
  const auto exact = model_with(WeightType::kF32);
  const std::vector<float> before = row_of(exact->weights.embedding, 7);
  for (const WeightType type : {WeightType::kInt4, WeightType::kQ4K, WeightType::kInt8}) {
    const auto rounded = model_with(type);
    copy_values(rounded->weights, exact->weights);
    EXPECT_EQ(row_of(exact->weights.embedding, 7), row_of(rounded->weights.embedding, 7));
    EXPECT_NE(row_of(exact->weights.embedding, 7), before);
    const LayerWeights &a = rounded->weights.layers.back(), &b = exact->weights.layers.back();
    for (const int part : {0, 1, 2}) {
      const int channel = a.qkv.offset[size_t(part)] + 3;
      EXPECT_EQ(row_of(a.qkv, channel), row_of(b.qkv, channel));
    }
    EXPECT_EQ(row_of(a.down, 5), row_of(b.down, 5));
  }
}

}  // namespace
}  // namespace cascade::eval
