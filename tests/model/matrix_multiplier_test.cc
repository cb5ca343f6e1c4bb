// Products of rows with stacked matrices: which rows and channels are computed, and that several
// products together are those products alone.
#include "model/matrix_multiplier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "tests/model/random_weights.h"
#include "tests/model/stepping.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

const Kernels& kernels() {
  return **kernels_for(best_isa());
}

// A product with memory of its own.
struct OwnProduct {
  OwnProduct(Random& random, std::vector<int> parts, int k, int rows, WeightType type)
      : w(random_stack(random, std::move(parts), k, memory, type)),
        x(random_vector(random, rows * k, 0)),
        y(size_t(rows) * size_t(w.n_padded())),
        quantized(allocate_aligned(quantized_rows_bytes(rows, k))) {
    product = {&w, x.data(), size_t(k), rows, quantized.get(), y.data(), size_t(w.n_padded())};
  }

  std::vector<AlignedBytes> memory;
  StackedMatrix w;
  std::vector<float> x, y;
  AlignedBytes quantized;
  Product product;
};

constexpr auto kPrepared = [](int, int, int, int) {};

TEST(MatrixMultiplier, several_products_have_the_bits_of_each_alone) {
  Random random(test_seed());
  ThreadPool one(1), three(3);
  for (const WeightType type : {WeightType::kF32, WeightType::kInt8, WeightType::kQ4K}) {
    MatrixMultiplier alone(kernels(), one, 256), together(kernels(), three, 256);
    std::vector<std::unique_ptr<OwnProduct>> own;
    std::vector<Product> products;
    for (const int rows : {1, 13, 0, 40, 2}) {
      const int k = 8 * (1 + static_cast<int>(random.below(32)));
      own.push_back(std::make_unique<OwnProduct>(random, std::vector<int>{20, 70}, k,
                                                 std::max(rows, 1), type));
      own.back()->product.rows = rows;
      products.push_back(own.back()->product);
    }
    together.set_inputs(products, kPrepared);
    together.multiply(products);
    for (const auto& each : own) {
      const std::vector<float> expected =
          std::exchange(each->y, std::vector<float>(each->y.size()));
      each->product.y = each->y.data();
      alone.set_inputs({&each->product, 1}, kPrepared);
      alone.multiply({&each->product, 1});
      EXPECT_EQ(each->y, expected) << to_string(type) << ", " << each->product.rows << " rows";
    }
  }
}

TEST(MatrixMultiplier, adds_the_bias_once) {
  Random random(test_seed());
  MatrixMultiplier multiplier(kernels(), two_threads(), 0);
  OwnProduct own(random, {33}, 16, 3, WeightType::kF32);
  multiplier.multiply({&own.product, 1});
  const std::vector<float> without = own.y;
  own.w.bias = random_vector(random, own.w.n_padded(), 1);
  multiplier.multiply({&own.product, 1});
  for (size_t i = 0; i < own.y.size(); ++i) {
    EXPECT_EQ(own.y[i], without[i] + own.w.bias[i % own.w.bias.size()]);
  }
}

TEST(MatrixMultiplier, takes_rows_from_where_they_are) {
  Random random(test_seed());
  MatrixMultiplier multiplier(kernels(), two_threads(), 64);
  OwnProduct own(random, {48}, 64, 5, WeightType::kInt8);
  multiplier.set_inputs({&own.product, 1}, kPrepared);
  multiplier.multiply({&own.product, 1});
  const std::vector<float> all = own.y;
  const std::vector<int32_t> from = {4, 0, 2};
  own.product.rows = 3;
  own.product.from = from.data();
  multiplier.set_inputs({&own.product, 1}, kPrepared);
  multiplier.multiply({&own.product, 1});
  for (size_t row = 0; row < from.size(); ++row) {
    for (size_t i = 0; i < 48; ++i) {
      ASSERT_EQ(own.y[row * 48 + i], all[size_t(from[row]) * 48 + i]);
    }
  }
}

TEST(MatrixMultiplier, prepares_every_channel_of_every_row_once) {
  Random random(test_seed());
  ThreadPool three(3);
  MatrixMultiplier multiplier(kernels(), three, 1024);
  std::vector<std::unique_ptr<OwnProduct>> own;
  std::vector<Product> products;
  std::vector<std::vector<std::atomic<int>>> calls;
  for (const int rows : {1, 30}) {
    own.push_back(
        std::make_unique<OwnProduct>(random, std::vector<int>{16}, 1000, rows, WeightType::kInt8));
    products.push_back(own.back()->product);
    calls.emplace_back(size_t(rows) * 1000);
  }
  multiplier.set_inputs(products, [&](int product, int row, int begin, int end) {
    for (int i = begin; i < end; ++i) ++calls[size_t(product)][size_t(row) * 1000 + size_t(i)];
  });
  for (const auto& of_product : calls) {
    for (const std::atomic<int>& count : of_product) ASSERT_EQ(count.load(), 1);
  }
}

}  // namespace
}  // namespace cascade::testing
