// Weights that are infinite or NaN, as a bit error in a scale or an exponent makes them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/model.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/stepping.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Expects that a GGUF file cannot be loaded with any weight type if one value of the tensor `name`
// (called `in_file` in the file) is `value`.
void expect_refused(const std::string& name, const std::string& in_file, GgmlType type,
                    float value) {
  const fs::path source = model_dir("llama-mha");
  PlainTensors tensors = read_tensors(source);
  std::vector<float>& values = tensors.at(name).values;
  values[values.size() - 3] = value;
  TemporaryFolder folder;
  TemporaryFolder state;
  const fs::path file = folder.path() / "model.gguf";
  write_gguf(source, tensors, type, file);
  ThreadPool pool(2);
  for (const WeightType weights : kWeightTypes) {
    SCOPED_TRACE(name + " as " + std::string(to_string(weights)));
    ModelOptions options = {.weight_type = weights, .kv_type = KvType::kF32};
    options.state_dir = state.path();
    for (const char* when : {"first", "again"}) {
      const auto model = load_model(file, options, pool);
      ASSERT_FALSE(model.ok()) << when;
      EXPECT_EQ(model.error().code, ErrorCode::kDataCorrupt);
      EXPECT_EQ(model.error().field, in_file);
      EXPECT_NE(model.error().message.find("infinite"), std::string::npos);
    }
  }
}

TEST(DamagedWeights, values_that_are_not_finite_are_an_error_of_their_tensor) {
  for (const float value : {kInfinity, -kInfinity, kNan}) {
    expect_refused("model.layers.1.mlp.down_proj.weight", "blk.1.ffn_down.weight", kGgmlF32, value);
  }
  expect_refused("model.embed_tokens.weight", "token_embd.weight", kGgmlF32, kNan);
  expect_refused("model.norm.weight", "output_norm.weight", kGgmlF32, kInfinity);
}

TEST(DamagedWeights, the_largest_numbers_are_an_error_in_bf16_and_in_k_quants) {
  const fs::path source = model_dir("llama-mha");
  const std::string name = "model.layers.1.mlp.down_proj.weight";
  PlainTensors tensors = read_tensors(source);
  TemporaryFolder folder;
  ThreadPool pool(2);
  const auto load_as = [&](WeightType type, float value) {
    tensors.at(name).values[5] = value;
    write_folder(source, tensors, folder.path());
    return load_model(folder.path(), {.weight_type = type, .kv_type = KvType::kF32}, pool);
  };
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const WeightType type : {WeightType::kF32, WeightType::kInt8, WeightType::kInt4}) {
    EXPECT_TRUE(load_as(type, -kLargest).ok()) << to_string(type);
  }
  EXPECT_TRUE(load_as(WeightType::kBf16, 0x1.fep127f).ok());
  const auto beyond = load_as(WeightType::kBf16, -kLargest);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(beyond.error().field, name);
  EXPECT_EQ(beyond.error().message,
            "has values of a magnitude of 3.39e38 or more, which bf16 cannot hold: --weights f32, "
            "int8 or int4 can (in model.safetensors)");
  // A K-quant holds offsets of up to 63 times the largest f16.
  for (const WeightType type : {WeightType::kQ4K, WeightType::kQ5K, WeightType::kQ6K}) {
    EXPECT_TRUE(load_as(type, -4.1e6f).ok()) << to_string(type);
    const auto too_large = load_as(type, 4.2e6f);
    ASSERT_FALSE(too_large.ok()) << to_string(type);
    EXPECT_EQ(too_large.error().code, ErrorCode::kUnsupported) << "the file is sound";
    EXPECT_EQ(too_large.error().field, name);
    EXPECT_EQ(too_large.error().message,
              "has values of a magnitude of 4126752 or more, which " +
                  std::string(to_string(type)) +
                  " cannot hold: --weights bf16, int8 or int4 can (in model.safetensors)");
    EXPECT_TRUE(load_as(WeightType::kBf16, 4.2e6f).ok());
    const auto infinite = load_as(type, -kInfinity);
    ASSERT_FALSE(infinite.ok()) << to_string(type);
    EXPECT_EQ(infinite.error().code, ErrorCode::kDataCorrupt);
  }
}

// The scale 1e9 / 127 is beyond f16.
TEST(DamagedWeights, scales_of_blocks_that_are_not_finite_are_an_error_of_their_tensor) {
  for (const GgmlType type : {kGgmlQ8_0, kGgmlQ5_0, kGgmlQ4_0}) {
    expect_refused("model.layers.0.self_attn.k_proj.weight", "blk.0.attn_k.weight", type, 1e9f);
  }
}

}  // namespace
}  // namespace cascade::testing
