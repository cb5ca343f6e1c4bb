// Hybrids in GGUF give the same results as the same models as Hugging Face folders.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "base/file.h"
#include "model/gguf/model.h"
#include "model/gguf/tensors.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/gguf/convert_hybrid.h"
#include "tests/model/gguf/write_config.h"
#include "tests/model/random_weights.h"
#include "tests/model/stepping.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

const ModelOptions kHybridOptions = {.weight_type = WeightType::kF32, .kv_type = KvType::kF32};
constexpr int kHybridTokens = 40;
constexpr int64_t kHybridBlock = 32;

// The logits of the last token of a fixed chain; empty, and a test failure, if the model cannot be
// loaded.
std::vector<float> hybrid_logits(const fs::path& path) {
  const auto model = load_model(path, kHybridOptions, two_threads());
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  if (!model.ok()) return {};
  return last_logits(**model, kHybridTokens);
}

std::vector<uint32_t> float_bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// A fixture's folder without what GGUF files cannot say.
struct HybridSource {
  explicit HybridSource(const std::string& name) : tensors(read_tensors(model_dir(name))) {
    write_folder(model_dir(name), tensors, folder.path());
    const fs::path file = folder.path() / "config.json";
    Json json = parse_json(*read_file(file, 1 << 20), "config.json").value();
    json.erase("time_step_limit");
    std::ofstream(file) << json.dump();
    config = *load_model_config(folder.path());
  }

  // Whether value heads are in another order in the file: then sums have another order, too.
  bool reorders() const {
    return config.model_type.starts_with("qwen3_5") &&
           config.recurrent.value_heads != config.recurrent.key_heads;
  }

  TemporaryFolder folder;
  PlainTensors tensors;
  ModelConfig config;
};

void expect_same_logits(const HybridSource& source, const std::vector<float>& actual,
                        const std::vector<float>& expected) {
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(actual.size(), expected.size());
  if (!source.reorders()) {
    EXPECT_EQ(float_bits(actual), float_bits(expected));
    return;
  }
  float largest = 0;
  for (const float logit : expected) largest = std::max(largest, std::abs(logit));
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 2e-5f * largest);
}

class GgufHybrid : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufHybrid, gives_what_the_folder_gives) {
  const HybridSource source(GetParam());
  const std::vector<float> expected = hybrid_logits(source.folder.path());
  for (const GgmlType type : {kGgmlF32, kGgmlBf16}) {
    SCOPED_TRACE(type);
    const fs::path file = source.folder.path() / "model.gguf";
    write_gguf(source.folder.path(), source.tensors, type, file);
    expect_same_logits(source, hybrid_logits(file), expected);
    ModelConfig config = *load_model_config(file);
    EXPECT_FALSE(config.norms_add_one) << "files hold the sums";
    config.norms_add_one = source.config.norms_add_one;
    EXPECT_EQ(config.recurrent.has_rates, config.recurrent.kind != Recurrence::kConvolution);
    config.recurrent.has_rates = false;
    EXPECT_EQ(config.recurrent.tiled_heads, config.model_type.starts_with("qwen3_5"));
    config.recurrent.tiled_heads = false;
    EXPECT_EQ(config, source.config);
  }
}

TEST_P(GgufHybrid, may_have_blocks) {
  const HybridSource source(GetParam());
  // Rows are whole blocks, in the folder and in the file. Where columns have another order, so that
  // other numbers share a block, there are none.
  const auto type_of = [&](const std::string& name, const PlainTensor& tensor) {
    const bool fits = tensor.shape.size() > 1 && tensor.shape.back() % kHybridBlock == 0 &&
                      tensor.values.size() != static_cast<size_t>(tensor.shape.back());
    const bool is_moved = source.reorders() && name.ends_with("linear_attn.out_proj.weight");
    return fits && !is_moved && !is_plain_in_hybrids(name) ? kGgmlQ8_0 : kGgmlF32;
  };
  PlainTensors rounded = source.tensors;
  size_t count = 0;
  for (auto& [name, tensor] : rounded) {
    const GgmlType type = type_of(name, tensor);
    count += type == kGgmlQ8_0 ? 1 : 0;
    tensor.values = decode_values(encode_values(tensor.values, type), type);
  }
  EXPECT_GE(count, 4u);
  const PlainTensors written = file_tensors(source.config, source.tensors);
  TemporaryFolder folder;
  write_folder(source.folder.path(), rounded, folder.path());
  const fs::path file = folder.path() / "model.gguf";
  write_gguf(
      source.folder.path(), source.tensors,
      [&](const std::string& name) { return type_of(name, written.at(name)); }, file);
  expect_same_logits(source, hybrid_logits(file), hybrid_logits(folder.path()));
}

INSTANTIATE_TEST_SUITE_P(Models, GgufHybrid,
                         ::testing::Values("granite4-hybrid", "granite4-hybrid-moe", "lfm2",
                                           "lfm2-moe", "qwen3-5", "qwen3-5-moe", "qwen3-next"),
                         [](const auto& model) {
                           std::string name = model.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Writes a file of these tensors, which have the names of file_tensors(). `changed` may change a
// tensor's GGUF name; an empty one leaves the tensor out.
fs::path write_hybrid_file(const HybridSource& source, const PlainTensors& tensors,
                           const std::function<void(std::string&)>& changed = {}) {
  GgufWriter out;
  write_metadata(source.folder.path(), out);
  for (const auto& [name, tensor] : tensors) {
    std::string gguf_name = gguf_tensor_name(name, source.config.model_type).value();
    if (changed) changed(gguf_name);
    if (gguf_name.empty()) continue;
    out.tensor(gguf_name, {tensor.shape.rbegin(), tensor.shape.rend()}, kGgmlF32,
               encode_values(tensor.values, kGgmlF32));
  }
  fs::path file = source.folder.path() / "other.gguf";
  std::ofstream(file, std::ios::binary) << out.file();
  return file;
}

// The error of loading the file.
Error load_error(const fs::path& file) {
  const auto model = load_model(file, kHybridOptions, two_threads());
  EXPECT_FALSE(model.ok());
  return model.ok() ? Error() : model.error();
}

TEST(GgufHybridFile, older_files_of_qwen3next_have_all_inputs_in_one_tensor) {
  const HybridSource source("qwen3-next");
  PlainTensors tensors = file_tensors(source.config, source.tensors);
  std::erase_if(tensors, [](const auto& item) {
    return item.first.find("in_proj_qkv.") != std::string::npos ||
           item.first.find("in_proj_z.") != std::string::npos;
  });
  for (const auto& [name, tensor] : source.tensors) {
    if (name.ends_with("in_proj_qkvz.weight")) tensors.emplace(name, tensor);
  }
  EXPECT_EQ(float_bits(hybrid_logits(write_hybrid_file(source, tensors))),
            float_bits(hybrid_logits(source.folder.path())));
}

// The model of fixture qwen3-5, with random weights whose rows are whole blocks of 256.
void write_wide_folder(const fs::path& to) {
  const fs::path from = model_dir("qwen3-5");
  PlainTensors tensors = read_tensors(from);
  std::erase_if(tensors, [](const auto& item) { return item.first.ends_with("_proj.bias"); });
  const std::map<int64_t, int64_t> wider = {{2, 4},    {16, 64},  {24, 64},   {32, 256},
                                            {48, 256}, {64, 256}, {112, 768}, {128, 512}};
  Random random(7);
  for (auto& [name, tensor] : tensors) {
    size_t count = 1;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      int64_t& size = tensor.shape[i];
      const bool is_taps = name.find("conv1d") != std::string::npos && i == 2;
      if (!is_taps && wider.contains(size)) size = wider.at(size);
      count *= static_cast<size_t>(size);
    }
    tensor.values = random_vector(random, static_cast<int>(count), 0, 0.2);
  }
  write_folder(from, tensors, to);
  Json json = parse_json(*read_file(to / "config.json", 1 << 20), "config.json").value();
  json.update({{"attention_bias", false},
               {"head_dim", 64},
               {"hidden_size", 256},
               {"intermediate_size", 256},
               {"num_key_value_heads", 4},
               {"linear_key_head_dim", 64},
               {"linear_value_head_dim", 64},
               {"linear_num_key_heads", 4},
               {"linear_num_value_heads", 4}});
  std::ofstream(to / "config.json") << json.dump();
}

TEST(GgufHybridFile, may_have_k_quants_of_several_types) {
  TemporaryFolder folder, rounded_folder;
  write_wide_folder(folder.path());
  const ModelConfig config = *load_model_config(folder.path());
  const PlainTensors tensors = read_tensors(folder.path());
  const auto type_of = [](const std::string& name) {
    if (name.find("in_proj_qkv") != std::string::npos) return kGgmlQ5K;
    if (name.find("in_proj_z") != std::string::npos) return kGgmlQ4K;
    return name.find("out_proj") != std::string::npos ? kGgmlQ4K : kGgmlQ6K;
  };
  PlainTensors rounded = tensors;
  for (auto& [name, tensor] : rounded) {
    if (tensor.shape.size() != 2) continue;
    const GgmlType type = type_of(name);
    tensor.values = decode_values(encode_values(tensor.values, type), type);
  }
  write_folder(folder.path(), rounded, rounded_folder.path());
  const fs::path file = folder.path() / "model.gguf";
  write_gguf(folder.path(), tensors, type_of, file);
  const std::vector<float> expected = hybrid_logits(rounded_folder.path());
  EXPECT_EQ(float_bits(hybrid_logits(file)), float_bits(expected));
  // Blocks are multiplied as they are; only activations are rounded.
  const auto kept = load_model(file, {.weights_as_in_files = true}, two_threads());
  ASSERT_TRUE(kept.ok()) << kept.error().to_string();
  const std::vector<WeightType>& types = (*kept)->weights.types;
  EXPECT_EQ(std::set(types.begin(), types.end()),
            std::set({WeightType::kQ4K, WeightType::kQ5K, WeightType::kQ6K}));
  const std::vector<float> actual = last_logits(**kept, kHybridTokens);
  double distance = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    distance += std::pow(double{actual[i]} - double{expected[i]}, 2);
    size += std::pow(double{expected[i]}, 2);
  }
  EXPECT_LT(std::sqrt(distance / size), 0.1);
}

TEST(GgufHybridFile, the_order_of_heads_is_a_part_of_the_key_of_k_and_v) {
  const auto loaded = load_model(model_dir("qwen3-5"), kHybridOptions, two_threads());
  ASSERT_TRUE(loaded.ok());
  RecurrentConfig& recurrent = (*loaded)->config.recurrent;
  const Digest key = (*loaded)->root_key("a");
  recurrent.tiled_heads = true;
  EXPECT_NE((*loaded)->root_key("a"), key);
  recurrent.tiled_heads = false;
  recurrent.has_rates = true;
  EXPECT_NE((*loaded)->root_key("a"), key);
  recurrent.has_rates = false;
  EXPECT_EQ((*loaded)->root_key("a"), key);
}

TEST(GgufHybridFile, layers_that_only_predict_further_tokens_are_left_out) {
  const HybridSource source("qwen3-5");
  GgufWriter out;
  ModelConfig config = source.config;
  config.draft_layers = 1;
  write_config(config, out);
  out.u32("qwen35.nextn_predict_layers", 1);
  for (const char* name : {"nextn.eh_proj", "attn_norm", "attn_q"}) {
    out.tensor("blk.4." + std::string(name) + ".weight", {1}, kGgmlF32,
               encode_values({1}, kGgmlF32));
  }
  out.tensor("token_embd.weight", {32, 260}, kGgmlF32, std::string(32 * 260 * 4, '\0'));
  const fs::path file = source.folder.path() / "drafts.gguf";
  std::ofstream(file, std::ios::binary) << out.file();
  const auto read = read_gguf_config(file);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->layers, 4);
  EXPECT_EQ(read->recurrent.layers, source.config.recurrent.layers);
  const auto tensors = open_model_tensors(file);
  ASSERT_TRUE(tensors.ok()) << tensors.error().to_string();
  EXPECT_EQ(tensors->names("model.layers.").size(), 0u);
}

TEST(GgufHybridFile, missing_tensors_have_the_files_names) {
  for (const auto& [fixture, missing] : {std::pair("qwen3-next", "blk.0.ssm_ba.weight"),
                                         {"qwen3-5", "blk.0.ssm_beta.weight"},
                                         {"qwen3-5", "blk.0.attn_gate.weight"},
                                         {"qwen3-5", "blk.1.ssm_a"},
                                         {"qwen3-5", "blk.0.ssm_dt.bias"},
                                         {"qwen3-5", "blk.3.attn_q_norm.weight"},
                                         {"lfm2", "blk.0.shortconv.conv.weight"},
                                         {"lfm2", "token_embd_norm.weight"},
                                         {"lfm2", "blk.1.ffn_up.weight"},
                                         {"lfm2-moe", "blk.1.exp_probs_b.bias"},
                                         {"granite4-hybrid", "blk.0.ssm_d"},
                                         {"granite4-hybrid", "blk.0.ffn_gate.weight"},
                                         {"granite4-hybrid", "blk.2.ssm_norm.weight"},
                                         {"granite4-hybrid-moe", "blk.0.ffn_up_shexp.weight"}}) {
    SCOPED_TRACE(missing);
    const HybridSource source(fixture);
    const Error error = load_error(
        write_hybrid_file(source, file_tensors(source.config, source.tensors),
                          [&](std::string& name) { name = name == missing ? "" : name; }));
    EXPECT_EQ(error.code, ErrorCode::kNotFound);
    EXPECT_EQ(error.field, missing) << error.to_string();
  }
}

TEST(GgufHybridFile, tensors_of_other_architectures_are_refused) {
  for (const auto& [fixture, other] : {std::pair("qwen3-5", "blk.0.ssm_ba.weight"),
                                       {"lfm2", "output_norm.weight"},
                                       {"granite4-hybrid", "blk.0.ssm_x.weight"},
                                       {"qwen3-next", "blk.0.shortconv.conv.weight"}}) {
    SCOPED_TRACE(other);
    const HybridSource source(fixture);
    const Error error = load_error(write_hybrid_file(
        source, file_tensors(source.config, source.tensors), [&](std::string& name) {
          if (name == "blk.0.attn_norm.weight") name = other;
        }));
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_EQ(error.field, other) << error.to_string();
  }
}

TEST(GgufHybridFile, rates_of_decay_are_not_above_0) {
  for (const char* fixture : {"qwen3-5", "granite4-hybrid"}) {
    const HybridSource source(fixture);
    PlainTensors tensors = file_tensors(source.config, source.tensors);
    for (auto& [name, tensor] : tensors) {
      if (name.ends_with("A_log")) tensor.values.back() = 1e-6f;
    }
    const Error error = load_error(write_hybrid_file(source, tensors));
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_EQ(error.field, "blk.0.ssm_a") << error.to_string();
  }
}

}  // namespace
}  // namespace cascade::testing
