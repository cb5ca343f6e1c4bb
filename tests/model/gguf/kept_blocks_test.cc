// Blocks of GGUF files are taken over unchanged: no weight is rounded a second time.
#include <gtest/gtest.h>

#include <cmath>

#include "model/gguf/model.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/gguf/small_model.h"
#include "tests/model/stepping.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Model> load_as(const fs::path& path, WeightType type,
                               const fs::path& state_dir = {}) {
  ModelOptions options = {.weight_type = type, .kv_type = KvType::kF32};
  options.state_dir = state_dir;
  auto model = load_model(path, options, two_threads());
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return model.ok() ? *std::move(model) : nullptr;
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
  return sum;
}

void expect_same_rows(const PackedMatrix& a, const PackedMatrix& b) {
  ASSERT_EQ(a.n, b.n);
  ASSERT_EQ(a.k, b.k);
  std::vector<float> x(a.k), y(b.k);
  for (int channel = 0; channel < a.n; ++channel) {
    get_row(a, channel, x.data());
    get_row(b, channel, y.data());
    ASSERT_EQ(x, y) << "channel " << channel;
  }
}

// Expects that all matrices of `kept` are blocks and have the values that `exact` has in f32.
void expect_kept(const Weights& kept, const Weights& exact) {
  EXPECT_TRUE(kept.block_scales);
  EXPECT_FALSE(exact.block_scales);
  const auto compare = [](const PackedMatrix& a, const PackedMatrix& b) {
    EXPECT_TRUE(a.block_scales);
    expect_same_rows(a, b);
  };
  compare(kept.embedding, exact.embedding);
  compare(kept.lm_head(), exact.lm_head());
  ASSERT_EQ(kept.layers.size(), exact.layers.size());
  for (size_t i = 0; i < kept.layers.size(); ++i) {
    SCOPED_TRACE("layer " + std::to_string(i));
    compare(kept.layers[i].qkv.matrices.front(), exact.layers[i].qkv.matrices.front());
    compare(kept.layers[i].output.matrices.front(), exact.layers[i].output.matrices.front());
    compare(kept.layers[i].gate_up.matrices.front(), exact.layers[i].gate_up.matrices.front());
    compare(kept.layers[i].down.matrices.front(), exact.layers[i].down.matrices.front());
  }
}

struct Kept {
  GgmlType file;
  WeightType weights;
};
class KeptBlocks : public ::testing::TestWithParam<Kept> {};

// Covers rows of 64 and 160 weights, which are not whole groups of 128, rows of Q and K in another
// order, and an embedding that is also the LM head.
TEST_P(KeptBlocks, are_the_weights_of_the_file_to_the_last_bit) {
  for (const char* name : {"llama-mha", "llama3-rope", "qwen2-bias"}) {
    SCOPED_TRACE(name);
    TemporaryFolder folder;
    const fs::path file = folder.path() / "model.gguf";
    write_gguf(model_dir(name), read_tensors(model_dir(name)), GetParam().file, file);
    const auto exact = load_as(file, WeightType::kF32);
    const auto kept = load_as(file, GetParam().weights);
    ASSERT_TRUE(exact && kept);
    expect_kept(kept->weights, exact->weights);
  }
}

// Compares the same numbers, once taken over and once rounded again. The activations are rounded
// alike.
TEST_P(KeptBlocks, give_logits_nearer_to_the_files_than_another_rounding_does) {
  const fs::path source = model_dir("qwen3-gqa");
  const PlainTensors tensors = read_tensors(source);
  TemporaryFolder folder;
  const fs::path file = folder.path() / "model.gguf";
  write_gguf(source, tensors, GetParam().file, file);
  write_folder(source, rounded(tensors, GetParam().file), folder.path());
  const auto exact = load_as(file, WeightType::kF32);
  const auto kept = load_as(file, GetParam().weights);
  const auto rounded_again = load_as(folder.path(), GetParam().weights);
  ASSERT_TRUE(exact && kept && rounded_again);
  EXPECT_FALSE(rounded_again->weights.block_scales);
  const std::vector<float> expected = last_logits(*exact);
  const double error = squared_distance(last_logits(*kept), expected);
  EXPECT_GT(error, 0) << "activations were not rounded";
  EXPECT_LT(error, squared_distance(last_logits(*rounded_again), expected));
}

// The packed weights are found again, and the root key of the pages stays the same.
TEST_P(KeptBlocks, are_packed_once_and_found_again) {
  TemporaryFolder folder;
  TemporaryFolder state;
  const fs::path file = folder.path() / "model.gguf";
  write_gguf(model_dir("qwen3-gqa"), read_tensors(model_dir("qwen3-gqa")), GetParam().file, file);
  const auto first = load_as(file, GetParam().weights, state.path());
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->load.from_cache);
  first->weights.keeper->wait();
  const auto again = load_as(file, GetParam().weights, state.path());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->load.from_cache);
  EXPECT_EQ(last_logits(*again), last_logits(*first));
  EXPECT_EQ(again->root_key("a"), first->root_key("a"));
}

INSTANTIATE_TEST_SUITE_P(Blocks, KeptBlocks,
                         ::testing::Values(Kept{kGgmlQ8_0, WeightType::kInt8},
                                           Kept{kGgmlQ5_0, WeightType::kInt8},
                                           Kept{kGgmlQ4_0, WeightType::kInt8},
                                           Kept{kGgmlQ4_0, WeightType::kInt4}),
                         [](const auto& test) {
                           const GgmlType file = test.param.file;
                           return std::string(file == kGgmlQ8_0   ? "q8_0"
                                              : file == kGgmlQ5_0 ? "q5_0"
                                                                  : "q4_0") +
                                  "_" + std::string(to_string(test.param.weights));
                         });

TEST(MixedBlocks, of_four_bits_give_the_same_bits_in_int8_and_int4) {
  TemporaryFolder folder;
  const fs::path file = folder.path() / "model.gguf";
  write_gguf(model_dir("qwen3-gqa"), read_tensors(model_dir("qwen3-gqa")), kGgmlQ4_0, file);
  const auto int8 = load_as(file, WeightType::kInt8);
  const auto int4 = load_as(file, WeightType::kInt4);
  ASSERT_TRUE(int8 && int4);
  EXPECT_EQ(last_logits(*int8), last_logits(*int4));
  EXPECT_NE(int8->root_key("a"), int4->root_key("a"));
}

// Files of one type have some matrices in other types. Matrices that are multiplied together form
// one matrix.
TEST(MixedBlocks, are_taken_over_where_all_that_is_multiplied_together_can_be) {
  const fs::path source = model_dir("qwen3-gqa");
  const PlainTensors tensors = read_tensors(source);
  const auto type_of = [](const std::string& name) {
    if (name.find("v_proj") != std::string::npos) return kGgmlQ8_0;
    if (name.find("up_proj") != std::string::npos) return kGgmlF16;
    return name == "lm_head.weight" ? kGgmlBf16 : kGgmlQ4_0;
  };
  PlainTensors same = tensors;
  for (auto& [name, tensor] : same) {
    if (tensor.shape.size() != 2) continue;
    tensor.values = decode_values(encode_values(tensor.values, type_of(name)), type_of(name));
  }
  TemporaryFolder folder;
  const fs::path file = folder.path() / "model.gguf";
  write_gguf(source, tensors, type_of, file);
  write_folder(source, same, folder.path());
  const auto exact = load_as(file, WeightType::kF32);
  for (const WeightType type : {WeightType::kInt8, WeightType::kInt4}) {
    SCOPED_TRACE(to_string(type));
    const auto mixed = load_as(file, type);
    const auto plain = load_as(folder.path(), type);
    ASSERT_TRUE(exact && mixed && plain);
    EXPECT_TRUE(mixed->weights.block_scales);
    // A matrix is kept if it can be; otherwise it is the matrix of the folder with the same
    // numbers.
    const auto expect = [&](const PackedMatrix& matrix, bool kept, const PackedMatrix& in_file,
                            const PackedMatrix& in_folder) {
      EXPECT_EQ(matrix.block_scales, kept);
      expect_same_rows(matrix, kept ? in_file : in_folder);
    };
    expect(mixed->weights.embedding, true, exact->weights.embedding, plain->weights.embedding);
    expect(mixed->weights.head, false, exact->weights.head, plain->weights.head);
    for (size_t i = 0; i < mixed->weights.layers.size(); ++i) {
      const LayerWeights& layer = mixed->weights.layers[i];
      const LayerWeights& in_file = exact->weights.layers[i];
      const LayerWeights& in_folder = plain->weights.layers[i];
      expect(layer.qkv.matrices.front(), type == WeightType::kInt8, in_file.qkv.matrices.front(),
             in_folder.qkv.matrices.front());
      expect(layer.output.matrices.front(), true, in_file.output.matrices.front(),
             in_folder.output.matrices.front());
      expect(layer.gate_up.matrices.front(), false, in_file.gate_up.matrices.front(),
             in_folder.gate_up.matrices.front());
      expect(layer.down.matrices.front(), true, in_file.down.matrices.front(),
             in_folder.down.matrices.front());
    }
  }
}

// Here Q, K and V are one tensor, and so are gate and up.
TEST(MixedBlocks, of_fused_tensors_are_taken_over) {
  constexpr uint64_t kHidden = SmallModel::kHidden, kInner = SmallModel::kInner;
  constexpr uint64_t kRows = (SmallModel::kHeads + 2) * SmallModel::kHeadDim;
  Random random(1);
  SmallModel model = {.architecture = "phi3", .without = {}};
  std::vector<std::pair<std::string, std::vector<uint64_t>>> matrices = {
      {"token_embd.weight", {kHidden, SmallModel::kTokens}},
      {"blk.0.attn_qkv.weight", {kHidden, kRows}},
      {"blk.0.attn_output.weight", {SmallModel::kHeads * SmallModel::kHeadDim, kHidden}},
      {"blk.0.ffn_up.weight", {kHidden, 2 * kInner}},
      {"blk.0.ffn_down.weight", {kInner, kHidden}}};
  for (const auto& [name, dimensions] : matrices) model.without.insert(name);
  for (const char* part : {"attn_q", "attn_k", "attn_v", "ffn_gate"}) {
    model.without.insert("blk.0." + std::string(part) + ".weight");
  }
  TemporaryFolder folder;
  const fs::path file = folder.write("model.gguf", model.file([&](GgufWriter& out) {
    for (const auto& [name, dimensions] : matrices) {
      std::vector<float> values(dimensions[0] * dimensions[1]);
      for (float& x : values) x = static_cast<float>(random.below(2001)) * 1e-3f - 1;
      out.tensor(name, dimensions, kGgmlQ4_0, encode_values(values, kGgmlQ4_0));
    }
  }));
  const auto exact = load_as(file, WeightType::kF32);
  for (const WeightType type : {WeightType::kInt8, WeightType::kInt4}) {
    const auto kept = load_as(file, type);
    ASSERT_TRUE(exact && kept);
    expect_kept(kept->weights, exact->weights);
  }
}

}  // namespace
}  // namespace cascade::testing
