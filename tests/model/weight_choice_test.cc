// How the types of weights follow from the types in a model's files.
#include "model/weight_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model.h"
#include "tests/long_tests.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/stepping.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Files with the given number of bytes of each type.
TensorFiles files_with(const std::vector<std::pair<std::string, uint64_t>>& types) {
  std::vector<TensorFiles::Located> tensors;
  for (const auto& [type, bytes] : types) {
    TensorFiles::Located located;
    located.entry.name = "tensor " + std::to_string(tensors.size());
    located.entry.type_name = type;
    located.entry.end = bytes;
    tensors.push_back(std::move(located));
  }
  return TensorFiles("model", {}, {}, std::move(tensors));
}

WeightType chosen(const std::vector<std::pair<std::string, uint64_t>>& types) {
  return choose_weights(files_with(types)).plan.type;
}

TEST(WeightChoice, keeps_what_most_bytes_are) {
  for (const char* plain : {"BF16", "F16", "F32"}) {
    EXPECT_EQ(chosen({{plain, 100}}), WeightType::kBf16) << plain;
  }
  EXPECT_EQ(chosen({{"Q4_0", 100}, {"F32", 1}}), WeightType::kInt4);
  EXPECT_EQ(chosen({{"Q4_K", 100}, {"Q6_K", 40}, {"F32", 1}}), WeightType::kQ4K);
  EXPECT_EQ(chosen({{"Q5_K", 100}}), WeightType::kQ5K);
  EXPECT_EQ(chosen({{"Q6_K", 60}, {"Q3_K", 60}, {"Q4_K", 100}}), WeightType::kQ6K)
      << "together they are more";
  for (const char* block : {"Q8_0", "Q5_0", "Q5_1", "Q4_1", "Q2_K", "IQ4_NL", "IQ4_XS"}) {
    EXPECT_EQ(chosen({{block, 100}, {"F32", 1}}), WeightType::kInt8) << block;
  }
  EXPECT_EQ(chosen({{"Q4_0", 100}, {"Q6_K", 99}}), WeightType::kInt4);
  EXPECT_EQ(chosen({{"Q4_0", 100}, {"Q5_1", 60}, {"Q8_0", 60}}), WeightType::kInt8)
      << "together they are more";
  EXPECT_EQ(chosen({{"Q8_0", 100}, {"F16", 101}}), WeightType::kBf16);
  EXPECT_EQ(chosen({}), WeightType::kBf16);
  EXPECT_EQ(chosen({{"I8", 100}}), WeightType::kBf16) << "refused when it is read";
}

TEST(WeightChoice, says_whether_some_matrices_are_quantised) {
  EXPECT_TRUE(choose_weights(files_with({{"F16", 100}, {"Q6_K", 10}})).some_quantized);
  EXPECT_TRUE(choose_weights(files_with({{"Q8_0", 100}})).some_quantized);
  EXPECT_FALSE(choose_weights(files_with({{"F16", 100}, {"Q8_0", 10}})).some_quantized);
}

TEST(WeightChoice, says_why) {
  EXPECT_EQ(choose_weights(files_with({{"Q4_0", 66}, {"Q6_K", 33}, {"F32", 1}})).why,
            "66 % of their bytes are Q4_0");
  EXPECT_EQ(choose_weights(files_with({{"Q4_1", 200}, {"Q8_0", 300}})).why,
            "100 % of their bytes are Q8_0 and Q4_1");
  EXPECT_EQ(choose_weights(files_with({{"Q4_K", 60}, {"Q6_K", 40}})).why,
            "60 % of their bytes are Q4_K");
  EXPECT_EQ(choose_weights(files_with({})).why, "there are none");
  const TensorFiles files = files_with({{"Q4_0", 1}});
  const WeightChoice given = choose_weights(files, {.weight_type = WeightType::kF32});
  EXPECT_EQ(given.plan.type, WeightType::kF32);
  EXPECT_EQ(given.why, "") << "somebody asked for it";
}

std::unique_ptr<Model> load_chosen(const fs::path& path, const ModelOptions& options) {
  static ThreadPool pool(2);
  auto model = load_model(path, options, pool);
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return model.ok() ? *std::move(model) : nullptr;
}

const ModelOptions kAsInFiles = {.kv_type = KvType::kF32, .weights_as_in_files = true};

ModelOptions all_of(WeightType type) {
  return {.weight_type = type, .kv_type = KvType::kF32};
}

TEST(WeightChoice, has_folders_of_plain_numbers_as_bf16) {
  const auto followed = load_chosen(demo_model_dir(), kAsInFiles);
  const auto given = load_chosen(demo_model_dir(), all_of(WeightType::kBf16));
  ASSERT_TRUE(followed && given);
  EXPECT_EQ(followed->options.weight_type, WeightType::kBf16);
  EXPECT_EQ(followed->root_key("a"), given->root_key("a")) << "K and V are found again";
  EXPECT_EQ(followed->load.type_why, "100 % of their bytes are BF16");
  EXPECT_EQ(given->load.type_why, "");
}

// As in files of llama.cpp, the embedding has more bits than the layers.
GgmlType with_finer_embedding(const std::string& name) {
  return name == "model.embed_tokens.weight" ? kGgmlQ8_0 : kGgmlQ4_0;
}

double squared_error(const PackedMatrix& a, const PackedMatrix& b) {
  std::vector<float> x(a.k), y(b.k);
  double sum = 0;
  for (int channel = 0; channel < a.n; ++channel) {
    get_row(a, channel, x.data());
    get_row(b, channel, y.data());
    for (int i = 0; i < a.k; ++i) sum += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
  }
  return sum;
}

TEST(WeightChoice, takes_over_all_blocks_of_a_file_in_two_types) {
  const PlainTensors tensors = read_tensors(demo_model_dir());
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "model.gguf";
  write_gguf(demo_model_dir(), tensors, with_finer_embedding, file);
  const auto exact = load_chosen(file, all_of(WeightType::kF32));
  const auto followed = load_chosen(file, kAsInFiles);
  const auto int4 = load_chosen(file, all_of(WeightType::kInt4));
  ASSERT_TRUE(exact && followed && int4);
  EXPECT_EQ(followed->options.weight_type, WeightType::kInt4);
  EXPECT_THAT(followed->load.type_why, HasSubstr("Q4_0"));
  const Weights& weights = followed->weights;
  EXPECT_EQ(weights.types, (std::vector{WeightType::kInt4, WeightType::kInt8}));
  EXPECT_EQ(weights.embedding.type, WeightType::kInt8);
  EXPECT_EQ(squared_error(weights.embedding, exact->weights.embedding), 0);
  EXPECT_GT(squared_error(int4->weights.embedding, exact->weights.embedding), 0);
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    EXPECT_EQ(weights.layers[i].qkv.matrices.front().type, WeightType::kInt4);
    EXPECT_EQ(squared_error(weights.layers[i].down.matrices.front(),
                            exact->weights.layers[i].down.matrices.front()),
              0);
  }
  // The weights take little more than the file, and K and V differ from those with int4 throughout.
  EXPECT_LT(static_cast<double>(weights.bytes()), 1.1 * static_cast<double>(fs::file_size(file)));
  EXPECT_EQ(int4->weights.types, std::vector{WeightType::kInt4});
  EXPECT_NE(followed->root_key("a"), int4->root_key("a"));
}

TEST(WeightChoice, is_packed_once_and_found_again_beside_other_types) {
  const PlainTensors tensors = read_tensors(demo_model_dir());
  const TemporaryFolder folder, state;
  const fs::path file = folder.path() / "model.gguf";
  write_gguf(demo_model_dir(), tensors, with_finer_embedding, file);
  ModelOptions followed = kAsInFiles, int4 = all_of(WeightType::kInt4);
  followed.state_dir = int4.state_dir = state.path();
  for (const bool again : {false, true}) {
    for (const ModelOptions& options : {followed, int4}) {
      const auto model = load_chosen(file, options);
      ASSERT_TRUE(model);
      EXPECT_EQ(model->load.from_cache, again);
    }
  }
}

TEST(WeightChoice, is_what_the_estimate_is_made_for) {
  const fs::path source = long_tests() ? demo_model_dir() : fixtures_dir() / "qwen3-gqa";
  const PlainTensors tensors = read_tensors(source);
  for (const GgmlType type : {kGgmlQ4_0, kGgmlQ8_0, kGgmlF16}) {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "model.gguf";
    write_gguf(source, tensors, type, file);
    const auto model = load_chosen(file, kAsInFiles);
    const auto tables = open_model_tensors(file);
    ASSERT_TRUE(model && tables.ok());
    const auto packed = describe_weights(*tables, model->config,
                                         choose_weights(*tables, kAsInFiles).plan, *model->kernels);
    ASSERT_TRUE(packed.ok());
    EXPECT_EQ(packed->bytes, model->weights.bytes());
    EXPECT_EQ(packed->types, model->weights.types);
  }
}

TEST(DescribeTypes, names_the_main_type_first) {
  using enum WeightType;
  EXPECT_EQ(describe_types(kQ4K, {kQ6K, kQ4K, kInt8}), "q4k, q6k and int8");
  EXPECT_EQ(describe_types(kQ4K, {kQ4K, kQ6K}), "q4k and q6k");
  EXPECT_EQ(describe_types(kF32, {kF32}), "f32");
  EXPECT_EQ(describe_types(kQ4K, {kQ6K}), "q6k");
}

}  // namespace
}  // namespace cascade::testing
