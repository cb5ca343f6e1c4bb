// K-quants of GGUF files are multiplied as they are: no weight is rounded a second time, and
// matrices of several types form one model.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "model/gguf/k_quant_blocks.h"
#include "model/gguf/model.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/stepping.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

// Its rows have 256 and 512 weights.
fs::path folder_of_whole_blocks() {
  return fixtures_dir() / "gguf-types" / "hf";
}

std::unique_ptr<Model> load_quants(const fs::path& path, const fs::path& state_dir = {}) {
  ModelOptions options = {.kv_type = KvType::kF32, .weights_as_in_files = true};
  options.state_dir = state_dir;
  auto model = load_model(path, options, two_threads());
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return model.ok() ? *std::move(model) : nullptr;
}

std::unique_ptr<Model> load_exactly(const fs::path& path) {
  const ModelOptions options = {.weight_type = WeightType::kF32, .kv_type = KvType::kF32};
  auto model = load_model(path, options, two_threads());
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return model.ok() ? *std::move(model) : nullptr;
}

// All rows of some matrices, one after the other.
std::vector<float> rows_of(const std::vector<PackedMatrix>& matrices) {
  std::vector<float> all;
  for (const PackedMatrix& matrix : matrices) {
    std::vector<float> row(size_t(matrix.k));
    for (int channel = 0; channel < matrix.n; ++channel) {
      get_row(matrix, channel, row.data());
      all.insert(all.end(), row.begin(), row.end());
    }
  }
  return all;
}

// The types of the matrices of a stack, in order.
std::vector<WeightType> types_of(const StackedMatrix& stack) {
  std::vector<WeightType> types;
  for (const PackedMatrix& matrix : stack.matrices) types.push_back(matrix.type);
  return types;
}

void expect_same_values(const Weights& kept, const Weights& exact) {
  EXPECT_EQ(rows_of({kept.embedding}), rows_of({exact.embedding}));
  ASSERT_EQ(kept.layers.size(), exact.layers.size());
  for (size_t i = 0; i < kept.layers.size(); ++i) {
    SCOPED_TRACE("layer " + std::to_string(i));
    const LayerWeights &a = kept.layers[i], &b = exact.layers[i];
    EXPECT_EQ(rows_of(a.qkv.matrices), rows_of(b.qkv.matrices));
    EXPECT_EQ(rows_of(a.output.matrices), rows_of(b.output.matrices));
    EXPECT_EQ(rows_of(a.gate_up.matrices), rows_of(b.gate_up.matrices));
    EXPECT_EQ(rows_of(a.down.matrices), rows_of(b.down.matrices));
  }
}

Trace trace_of(const Model& m) {
  Transformer transformer(m.config, m.weights, *m.kernels, m.kv_layout, two_threads());
  Ids ids;
  for (int i = 0; i < 40; ++i) ids.push_back((i * 37 + 11) % m.config.vocab_size);
  return run_chain(transformer, m.kv_layout, ids, ids.size());
}

// The distance of hidden states, relative to their size.
double relative_distance(const Trace& a, const Trace& b) {
  EXPECT_EQ(a.hidden.size(), b.hidden.size());
  double distance = 0, size = 0;
  for (size_t i = 0; i < a.hidden.size(); ++i) {
    distance += (double(a.hidden[i]) - b.hidden[i]) * (double(a.hidden[i]) - b.hidden[i]);
    size += double(b.hidden[i]) * b.hidden[i];
  }
  return std::sqrt(distance / size);
}

struct KQuantFile {
  GgmlType file;
  WeightType weights;
};
class KQuantWeights : public ::testing::TestWithParam<KQuantFile> {};

TEST_P(KQuantWeights, are_those_of_the_file_to_the_last_bit) {
  const TemporaryFolder folder;
  const fs::path source = folder_of_whole_blocks(), file = folder.path() / "model.gguf";
  write_gguf(source, read_tensors(source), GetParam().file, file);
  const auto kept = load_quants(file), exact = load_exactly(file);
  ASSERT_TRUE(kept && exact);
  EXPECT_EQ(kept->weights.types, std::vector{GetParam().weights});
  EXPECT_EQ(kept->options.weight_type, GetParam().weights);
  expect_same_values(kept->weights, exact->weights);
  // Activations are rounded to int8; nothing else is.
  const double distance = relative_distance(trace_of(*kept), trace_of(*exact));
  EXPECT_GT(distance, 0);
  EXPECT_LT(distance, 0.03);
}

TEST_P(KQuantWeights, are_packed_once_and_found_again) {
  const TemporaryFolder folder, state;
  const fs::path source = folder_of_whole_blocks(), file = folder.path() / "model.gguf";
  write_gguf(source, read_tensors(source), GetParam().file, file);
  const auto first = load_quants(file, state.path());
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->load.from_cache);
  first->weights.keeper->wait();
  const auto again = load_quants(file, state.path());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->load.from_cache);
  EXPECT_EQ(again->root_key("a"), first->root_key("a"));
  expect_same_values(again->weights, first->weights);
}

TEST_P(KQuantWeights, with_a_scale_that_is_not_finite_are_an_error_of_their_tensor) {
  const TemporaryFolder folder;
  const fs::path source = folder_of_whole_blocks(), file = folder.path() / "model.gguf";
  PlainTensors tensors = read_tensors(source);
  tensors.at("model.layers.1.mlp.up_proj.weight").values[777] = -1e9f;  // its scale is beyond f16
  write_gguf(source, tensors, GetParam().file, file);
  const ModelOptions options = {.kv_type = KvType::kF32, .weights_as_in_files = true};
  const auto model = load_model(file, options, two_threads());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kDataCorrupt);
  EXPECT_EQ(model.error().field, "blk.1.ffn_up.weight");
}

INSTANTIATE_TEST_SUITE_P(Files, KQuantWeights,
                         ::testing::Values(KQuantFile{kGgmlQ3K, WeightType::kQ6K},
                                           KQuantFile{kGgmlQ4K, WeightType::kQ4K},
                                           KQuantFile{kGgmlQ5K, WeightType::kQ5K},
                                           KQuantFile{kGgmlQ6K, WeightType::kQ6K}),
                         [](const auto& test) {
                           const GgmlType file = test.param.file;
                           return std::string(file == kGgmlQ3K   ? "q3_k"
                                              : file == kGgmlQ4K ? "q4_k"
                                              : file == kGgmlQ5K ? "q5_k"
                                                                 : "q6_k");
                         });

// The layout of Q4_K_M: half of the layers have a finer V and down.
TEST(MixedKQuants, of_the_reference_tool_are_kept_as_they_are) {
  const fs::path file = fixtures_dir() / "gguf-types" / "tiny-Q4_K_M.gguf";
  const auto kept = load_quants(file), exact = load_exactly(file);
  ASSERT_TRUE(kept && exact);
  EXPECT_EQ(std::set(kept->weights.types.begin(), kept->weights.types.end()),
            (std::set{WeightType::kQ4K, WeightType::kQ6K}));
  expect_same_values(kept->weights, exact->weights);
  EXPECT_LT(relative_distance(trace_of(*kept), trace_of(*exact)), 0.03);
  EXPECT_LT(double(kept->weights.bytes()), 1.1 * double(fs::file_size(file)));
}

// Both have the types "q4k and q6k", but not in the same matrices.
TEST(MixedKQuants, as_in_files_and_asked_for_by_name_give_other_answers) {
  const fs::path file = fixtures_dir() / "gguf-types" / "tiny-Q4_K_M.gguf";
  const auto kept = load_quants(file);
  const auto asked =
      load_model(file, {.weight_type = WeightType::kQ4K, .kv_type = KvType::kF32}, two_threads());
  ASSERT_TRUE(kept && asked.ok());
  EXPECT_EQ(weight_types(*kept), weight_types(**asked));
  EXPECT_NE(kept->answer_key(), (*asked)->answer_key());
}

// Tensors of any types may be multiplied together. A tensor that is no K-quant keeps its blocks, or
// becomes int8.
TEST(MixedKQuants, are_one_matrix_for_each_run_of_a_type) {
  const TemporaryFolder folder;
  const fs::path source = folder_of_whole_blocks(), file = folder.path() / "model.gguf";
  const auto type_of = [](const std::string& name) {
    const std::map<std::string, GgmlType> types = {{"q_proj", kGgmlQ4K},     {"k_proj", kGgmlF16},
                                                   {"v_proj", kGgmlQ6K},     {"o_proj", kGgmlQ5K},
                                                   {"gate_proj", kGgmlQ8_0}, {"up_proj", kGgmlQ4K},
                                                   {"down_proj", kGgmlQ4K}};
    for (const auto& [part, type] : types) {
      if (name.find(part) != std::string::npos) return type;
    }
    return kGgmlQ4_0;  // the embedding
  };
  write_gguf(source, read_tensors(source), type_of, file);
  const auto kept = load_quants(file), exact = load_exactly(file);
  ASSERT_TRUE(kept && exact);
  using enum WeightType;
  EXPECT_EQ(kept->weights.embedding.type, kInt4);
  EXPECT_EQ(rows_of({kept->weights.embedding}), rows_of({exact->weights.embedding}));
  for (size_t i = 0; i < kept->weights.layers.size(); ++i) {
    const LayerWeights &a = kept->weights.layers[i], &b = exact->weights.layers[i];
    EXPECT_EQ(types_of(a.qkv), (std::vector{kQ4K, kInt8, kQ6K}));
    EXPECT_EQ(types_of(a.output), std::vector{kQ5K});
    EXPECT_EQ(types_of(a.gate_up), (std::vector{kInt8, kQ4K}));
    EXPECT_EQ(types_of(a.down), std::vector{kQ4K});
    EXPECT_EQ(rows_of(a.down.matrices), rows_of(b.down.matrices));
    EXPECT_EQ(rows_of(a.output.matrices), rows_of(b.output.matrices));
    EXPECT_EQ(rows_of(a.gate_up.matrices), rows_of(b.gate_up.matrices));
  }
  EXPECT_LT(relative_distance(trace_of(*kept), trace_of(*exact)), 0.03);
}

TEST(MixedKQuants, asked_for_by_name_hold_all_matrices_and_have_a_finer_head_and_v) {
  const fs::path source = model_dir("llama-mha");
  const auto int8 = load_model(source, {.weight_type = WeightType::kInt8}, two_threads());
  ASSERT_TRUE(int8.ok());
  for (const WeightType type : {WeightType::kQ4K, WeightType::kQ5K, WeightType::kQ6K}) {
    const auto model = load_model(source, {.weight_type = type}, two_threads());
    ASSERT_TRUE(model.ok());
    const Weights& weights = (*model)->weights;
    EXPECT_EQ(weights.lm_head().type, WeightType::kQ6K);
    EXPECT_EQ(types_of(weights.layers[0].qkv),
              type == WeightType::kQ6K ? std::vector{type} : (std::vector{type, WeightType::kQ6K}));
    EXPECT_EQ(types_of(weights.layers[0].gate_up), std::vector{type});
    EXPECT_EQ(types_of(weights.layers[0].output), std::vector{type});
    EXPECT_EQ(types_of(weights.layers[0].down), std::vector{type});
    EXPECT_NE((*model)->root_key("a"), (*int8)->root_key("a"));
  }
}

TEST(MixedKQuants, asked_for_by_name_keep_the_blocks_that_they_are) {
  const TemporaryFolder folder;
  const fs::path source = folder_of_whole_blocks(), file = folder.path() / "model.gguf";
  write_gguf(source, read_tensors(source), kGgmlQ4K, file);
  const auto model = load_model(file, {.weight_type = WeightType::kQ4K}, two_threads());
  const auto exact = load_exactly(file);
  ASSERT_TRUE(model.ok() && exact);
  EXPECT_EQ((*model)->weights.types, std::vector{WeightType::kQ4K}) << "V and the head, too";
  expect_same_values((*model)->weights, exact->weights);
}

}  // namespace
}  // namespace cascade::testing
