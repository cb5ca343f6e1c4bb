// The estimated memory of a model is the memory that it takes.
#include "model/memory_estimate.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/kernels.h"
#include "model/activations.h"
#include "model/model.h"
#include "model/safetensors.h"
#include "model/transformer.h"
#include "tests/long_tests.h"
#include "tests/shared_dir.h"

namespace cascade::testing {
namespace {

ModelConfig demo_config() {
  const auto config = load_model_config(demo_model_dir());
  CHECK(config.ok());
  return *config;
}

TEST(MemoryEstimate, weights_are_as_many_bytes_as_loading_takes) {
  const auto files = TensorFiles::open(demo_model_dir());
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  ThreadPool pool(2);
  const std::vector<Isa> both = {Isa::kScalar, best_isa()}, best = {best_isa()};
  for (const Isa isa : long_or(both, best)) {
    for (const WeightType type : kWeightTypes) {
      const auto model = load_model(demo_model_dir(), {.weight_type = type, .isa = isa}, pool);
      ASSERT_TRUE(model.ok()) << model.error().to_string();
      const auto packed = describe_weights(*files, demo_config(), type, **kernels_for(isa));
      ASSERT_TRUE(packed.ok()) << packed.error().to_string();
      EXPECT_EQ(packed->bytes, (*model)->weights.bytes()) << to_string(type);
      EXPECT_EQ(packed->types, (*model)->weights.types);
      EXPECT_EQ((*model)->config, demo_config());
    }
  }
}

TEST(MemoryEstimate, a_model_that_could_not_be_loaded_is_refused) {
  const auto files = TensorFiles::open(demo_model_dir());
  ASSERT_TRUE(files.ok());
  ModelConfig config = demo_config();
  config.layers += 1;
  config.window.push_back(0);
  const auto packed =
      describe_weights(*files, config, WeightType::kF32, **kernels_for(Isa::kScalar));
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(load_model_config(demo_model_dir() / "none").error().code, ErrorCode::kNotFound);
}

TEST(MemoryEstimate, counts_a_recurrent_state_for_each_sequence) {
  const auto config = load_model_config(testing::fixtures_dir() / "lfm2");
  ASSERT_TRUE(config.ok());
  const auto of = [&](int64_t sequences) {
    return *estimate_memory(*config, 1000, {.tokens = 64, .sequences = sequences});
  };
  EXPECT_EQ(of(1).state_bytes, config->recurrent.state_floats() * sizeof(float));
  EXPECT_EQ(of(5).state_bytes, 5 * of(1).state_bytes);
  EXPECT_EQ(of(5).total_bytes, 1000 + of(5).activation_bytes + of(5).kv_bytes + of(5).state_bytes);
}

TEST(MemoryEstimate, kv_counts_whole_pages_of_each_sequence) {
  const ModelConfig config = demo_config();
  for (const KvType type : kKvTypes) {
    const size_t page_bytes = kv_layout(config, type).indexed_page_bytes();
    const auto kv = [&](int64_t tokens, int64_t sequences) {
      const auto estimate = estimate_memory(
          config, 1000, {.kv_type = type, .tokens = tokens, .sequences = sequences});
      EXPECT_TRUE(estimate.ok());
      EXPECT_EQ(estimate->page_bytes, page_bytes);
      EXPECT_EQ(estimate->kv_bytes, estimate->pages * page_bytes);
      EXPECT_EQ(estimate->total_bytes, 1000 + estimate->activation_bytes + estimate->kv_bytes);
      return estimate->pages;
    };
    EXPECT_EQ(kv(1, 1), 1u);
    EXPECT_EQ(kv(64, 1), 1u);
    EXPECT_EQ(kv(65, 1), 2u);
    EXPECT_EQ(kv(65, 7), 14u) << "sequences share no page";
    EXPECT_EQ(kv(16384, 1), 256u);
  }
}

TEST(MemoryEstimate, activations_grow_with_threads_and_with_quantised_weights) {
  const ModelConfig config = demo_config();
  const auto bytes = [&](WeightType type, int threads) {
    return estimate_memory(config, 0, {.weight_type = type, .threads = threads})->activation_bytes;
  };
  // 384 channels, 6 + 2 x 2 heads of 64, an MLP of 1,024; 512 rows.
  const size_t row_floats = 2 * 384 + 640 + 384 + 2048 + 384 + 2 * 32;
  const size_t scratch_floats = (attention_scratch_floats(64) + 15) / 16 * 16;
  EXPECT_EQ(bytes(WeightType::kF32, 1), 4 * (512 * row_floats + scratch_floats));
  EXPECT_EQ(bytes(WeightType::kBf16, 3), 4 * (512 * row_floats + 3 * scratch_floats));
  EXPECT_GE(bytes(WeightType::kInt8, 1), bytes(WeightType::kF32, 1) + 512 * 1024);
  EXPECT_EQ(bytes(WeightType::kInt8, 2), bytes(WeightType::kInt4, 2));
  EXPECT_EQ(bytes(WeightType::kInt8, 2), bytes(WeightType::kQ4K, 2));
  const MemoryDemand mixed = {.weight_type = WeightType::kBf16, .some_quantized = true};
  EXPECT_EQ(estimate_memory(config, 0, mixed)->activation_bytes, bytes(WeightType::kInt8, 1));
  EXPECT_GT(bytes(WeightType::kInt8, 2), bytes(WeightType::kInt8, 1) + 4 * scratch_floats);
}

TEST(MemoryEstimate, a_context_that_the_model_has_not_is_refused_with_the_limit) {
  const ModelConfig config = demo_config();
  for (const int64_t tokens : {std::numeric_limits<int64_t>::min(), int64_t{-1}, int64_t{0},
                               int64_t{16385}, std::numeric_limits<int64_t>::max()}) {
    const auto estimate = estimate_memory(config, 0, {.tokens = tokens});
    ASSERT_FALSE(estimate.ok()) << tokens;
    EXPECT_EQ(estimate.error().to_string(),
              "invalid_argument: tokens: must be from 1 to 16384 (the model's context), got " +
                  std::to_string(tokens));
  }
}

TEST(MemoryEstimate, sums_that_do_not_fit_64_bits_are_refused) {
  const ModelConfig config = demo_config();
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (const MemoryDemand& demand :
       {MemoryDemand{.tokens = 1, .sequences = most},      // too many bytes
        MemoryDemand{.tokens = 16384, .sequences = most},  // too many pages
        MemoryDemand{.tokens = 1, .sequences = 0}, MemoryDemand{.tokens = 1, .sequences = -1}}) {
    const auto estimate = estimate_memory(config, 0, demand);
    ASSERT_FALSE(estimate.ok()) << demand.sequences;
    EXPECT_EQ(estimate.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(estimate.error().field, "sequences");
  }
  EXPECT_FALSE(estimate_memory(config, std::numeric_limits<uint64_t>::max(), {}).ok());
}

}  // namespace
}  // namespace cascade::testing
