// Tensors of mixtures of experts that are not what the configuration says: each is one error, which
// names the tensor as its file does.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "tests/model/config_testing.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/gguf/small_model.h"
#include "tests/model/stepping.h"
#include "tests/model/weights_testing.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

TEST(MixtureWeights, tensors_of_an_expert_of_another_shape_are_named) {
  expect_shapes_are_checked("mixtral", {"model.layers.0.block_sparse_moe.gate.weight",
                                        "model.layers.1.block_sparse_moe.experts.0.w1.weight",
                                        "model.layers.1.block_sparse_moe.experts.3.w2.weight",
                                        "model.layers.2.block_sparse_moe.experts.3.w3.weight"});
  expect_shapes_are_checked("qwen3-moe", {"model.layers.0.mlp.gate.weight",
                                          "model.layers.0.mlp.experts.0.gate_proj.weight",
                                          "model.layers.0.mlp.experts.8.up_proj.weight",
                                          "model.layers.2.mlp.experts.8.down_proj.weight"});
}

TEST(MixtureWeights, shared_experts_and_biases_of_another_shape_are_named) {
  expect_shapes_are_checked("glm4-moe", {"model.layers.1.mlp.gate.e_score_correction_bias",
                                         "model.layers.1.mlp.experts.11.down_proj.weight",
                                         "model.layers.2.mlp.shared_experts.gate_proj.weight",
                                         "model.layers.2.mlp.shared_experts.down_proj.weight"});
}

TEST(MixtureWeights, gates_and_fused_experts_of_another_shape_are_named) {
  expect_shapes_are_checked("qwen2-moe", {"model.layers.0.mlp.shared_expert_gate.weight",
                                          "model.layers.0.mlp.shared_expert.up_proj.weight",
                                          "model.layers.2.mlp.shared_expert.down_proj.weight"});
  expect_shapes_are_checked("granite-moe-shared",
                            {"model.layers.0.block_sparse_moe.router.layer.weight",
                             "model.layers.0.block_sparse_moe.input_linear.weight",
                             "model.layers.1.block_sparse_moe.output_linear.weight",
                             "model.layers.2.shared_mlp.input_linear.weight",
                             "model.layers.2.shared_mlp.output_linear.weight"});
  expect_shapes_are_checked("granite4", {"model.layers.0.shared_mlp.input_linear.weight",
                                         "model.layers.2.shared_mlp.output_linear.weight"});
}

TEST(MixtureWeights, missing_tensors_of_granite_are_named_as_its_folders_have_them) {
  const std::string layer = "model.layers.1.";
  TemporaryFolder folder;
  for (const auto& [fixture, tensors] :
       {std::pair("granite-moe-shared",
                  std::vector<std::string>{"block_sparse_moe.router.layer.weight",
                                           "block_sparse_moe.input_linear.weight",
                                           "block_sparse_moe.output_linear.weight",
                                           "shared_mlp.input_linear.weight",
                                           "shared_mlp.output_linear.weight"}),
        {"granite4", {"shared_mlp.input_linear.weight", "shared_mlp.output_linear.weight"}}}) {
    const PlainTensors right = read_tensors(model_dir(fixture));
    for (const std::string& name : tensors) {
      PlainTensors fewer = right;
      ASSERT_EQ(fewer.erase(layer + name), 1u);
      write_folder(model_dir(fixture), fewer, folder.path());
      expect_refusal(folder.path(), ErrorCode::kNotFound, layer + name,
                     "is not in the model's files");
    }
  }
}

TEST(MixtureWeights, names_of_granite_are_no_names_of_others) {
  const fs::path source = model_dir("llama-linear");
  PlainTensors tensors = read_tensors(source);
  const std::string mlp = "model.layers.0.mlp.";
  PlainTensor input = tensors.at(mlp + "gate_proj.weight");
  input.shape.front() *= 2;
  input.values.resize(input.values.size() * 2);
  tensors["model.layers.0.shared_mlp.input_linear.weight"] = input;
  TemporaryFolder folder;
  write_folder(source, tensors, folder.path());
  expect_refusal(folder.path(), ErrorCode::kUnsupported,
                 "model.layers.0.shared_mlp.input_linear.weight", "does not use it");
}

// The tensors of a layer's experts as two, which hold all of them.
void fuse_experts(PlainTensors& tensors, const std::string& experts) {
  PlainTensor gate_up, down;
  for (int64_t expert = 0;; ++expert) {
    const std::string one = experts + std::to_string(expert) + ".";
    if (!tensors.contains(one + "gate_proj.weight")) break;
    for (const auto& [part, into] :
         {std::pair("gate_proj", &gate_up), {"up_proj", &gate_up}, {"down_proj", &down}}) {
      const PlainTensor found = tensors.extract(one + part + ".weight").mapped();
      into->shape = {expert + 1, found.shape[0], found.shape[1]};
      into->values.insert(into->values.end(), found.values.begin(), found.values.end());
    }
  }
  gate_up.shape[1] *= 2;
  tensors[experts + "gate_up_proj"] = gate_up;
  tensors[experts + "down_proj"] = down;
}

// Transformers 5 has an expert's gate and up in one tensor while it computes.
TEST(MixtureWeights, experts_as_slices_of_two_tensors_are_those_that_have_tensors_each) {
  for (const char* fixture : {"qwen2-moe", "qwen3-moe", "olmoe"}) {
    const fs::path source = model_dir(fixture);
    PlainTensors tensors = read_tensors(source);
    for (int layer = 0; layer < 3; ++layer) {
      const std::string experts = "model.layers." + std::to_string(layer) + ".mlp.experts.";
      if (tensors.contains(experts + "0.up_proj.weight")) fuse_experts(tensors, experts);
    }
    TemporaryFolder folder;
    write_folder(source, tensors, folder.path());
    const auto fused = load_weights_in(WeightType::kF32, folder.path());
    ASSERT_TRUE(fused.ok()) << fused.error().to_string();
    EXPECT_EQ(testing::last_logits(**fused),
              testing::last_logits(**load_weights_in(WeightType::kF32, source)));
  }
}

TEST(MixtureWeights, an_expert_too_few_or_too_many_is_named) {
  const fs::path source = model_dir("mixtral");
  const PlainTensors right = read_tensors(source);
  const std::string experts = "model.layers.2.block_sparse_moe.experts.";
  TemporaryFolder folder;
  for (const char* part : {"w1", "w2", "w3"}) {
    const std::string last = experts + "3." + part + ".weight";
    PlainTensors fewer = right;
    ASSERT_EQ(fewer.erase(last), 1u) << last;
    write_folder(source, fewer, folder.path());
    expect_refusal(folder.path(), ErrorCode::kNotFound, last, "is not in the model's files");
    const std::string next = experts + "4." + part + ".weight";
    PlainTensors more = right;
    more[next] = right.at(last);
    write_folder(source, more, folder.path());
    expect_refusal(folder.path(), ErrorCode::kUnsupported, next, "does not use it");
  }
}

// A model of one layer whose experts are joined. No two sizes of tensors are the same.
constexpr int kOssExperts = 3;
constexpr int kOssHidden = 40;
constexpr int kOssInner = 24;
constexpr int kOssHeads = 4;
constexpr int kOssKvHeads = 2;
constexpr int kOssHeadDim = 16;
constexpr int kOssTokens = 260;
std::string in_layer(const std::string& name) {
  return "model.layers.0." + name;
}

// The tensors that other models do not have.
std::map<std::string, TensorShape> joined_shapes() {
  return {{in_layer("self_attn.sinks"), {kOssHeads}},
          {in_layer("mlp.router.weight"), {kOssExperts, kOssHidden}},
          {in_layer("mlp.router.bias"), {kOssExperts}},
          {in_layer("mlp.experts.gate_up_proj"), {kOssExperts, kOssHidden, 2 * kOssInner}},
          {in_layer("mlp.experts.gate_up_proj_bias"), {kOssExperts, 2 * kOssInner}},
          {in_layer("mlp.experts.down_proj"), {kOssExperts, kOssInner, kOssHidden}},
          {in_layer("mlp.experts.down_proj_bias"), {kOssExperts, kOssHidden}}};
}

PlainTensors joined_tensors() {
  std::map<std::string, TensorShape> shapes = joined_shapes();
  shapes["model.embed_tokens.weight"] = {kOssTokens, kOssHidden};
  shapes["model.norm.weight"] = {kOssHidden};
  for (const char* norm : {"input_layernorm.weight", "post_attention_layernorm.weight"}) {
    shapes[in_layer(norm)] = {kOssHidden};
  }
  const auto linear = [&](const char* name, int n, int k) {
    shapes[in_layer("self_attn." + std::string(name) + ".weight")] = {n, k};
    shapes[in_layer("self_attn." + std::string(name) + ".bias")] = {n};
  };
  linear("q_proj", kOssHeads * kOssHeadDim, kOssHidden);
  linear("k_proj", kOssKvHeads * kOssHeadDim, kOssHidden);
  linear("v_proj", kOssKvHeads * kOssHeadDim, kOssHidden);
  linear("o_proj", kOssHidden, kOssHeads * kOssHeadDim);
  PlainTensors tensors;
  for (const auto& [name, shape] : shapes) tensors[name] = small_numbers(shape);
  return tensors;
}

// Writes the model; its tokenizer is that of a fixture.
void write_joined(const PlainTensors& tensors, const TemporaryFolder& folder) {
  write_folder(model_dir("mixtral"), tensors, folder.path());
  Json config = minimal_config("gpt_oss", 1);
  config.update({{"hidden_size", kOssHidden},
                 {"intermediate_size", kOssInner},
                 {"num_attention_heads", kOssHeads},
                 {"num_key_value_heads", kOssKvHeads},
                 {"head_dim", kOssHeadDim},
                 {"vocab_size", kOssTokens},
                 {"num_local_experts", kOssExperts},
                 {"num_experts_per_tok", 2},
                 {"tie_word_embeddings", true}});
  folder.write("config.json", config.dump());
}

TEST(MixtureWeights, joined_tensors_of_another_shape_are_named) {
  const PlainTensors right = joined_tensors();
  TemporaryFolder folder;
  write_joined(right, folder);
  expect_loads(folder.path());
  for (const auto& [name, shape] : joined_shapes()) {
    for (const TensorShape& other : other_shapes(shape)) {
      PlainTensors wrong = right;
      wrong.at(name) = small_numbers(other);
      write_joined(wrong, folder);
      expect_refusal(folder.path(), ErrorCode::kInvalidArgument, name, expecting(shape));
    }
  }
}

TEST(MixtureWeights, joined_tensors_that_are_missing_or_unknown_are_named) {
  const PlainTensors right = joined_tensors();
  TemporaryFolder folder;
  for (const auto& [name, shape] : joined_shapes()) {
    PlainTensors fewer = right;
    fewer.erase(name);
    write_joined(fewer, folder);
    expect_refusal(folder.path(), ErrorCode::kNotFound, name, "is not in the model's files");
  }
  for (const char* added : {"mlp.experts.gate_up_proj_blocks", "mlp.experts.down_proj_scales",
                            "mlp.experts.0.gate_proj.weight", "mlp.gate_proj.weight"}) {
    PlainTensors more = right;
    more[in_layer(added)] = small_numbers({kOssExperts, kOssHidden});
    write_joined(more, folder);
    expect_refusal(folder.path(), ErrorCode::kUnsupported, in_layer(added), "does not use it");
  }
}

TEST(MixtureWeights, values_of_joined_tensors_that_are_not_finite_are_an_error_of_their_tensor) {
  const PlainTensors right = joined_tensors();
  TemporaryFolder folder;
  for (const auto& [name, shape] : joined_shapes()) {
    for (const float value :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      PlainTensors wrong = right;
      std::vector<float>& values = wrong.at(name).values;
      values[values.size() - 3] = value;
      write_joined(wrong, folder);
      for (const WeightType type : {WeightType::kF32, WeightType::kBf16, WeightType::kInt4}) {
        expect_refusal(folder.path(), ErrorCode::kDataCorrupt, name, "infinite", type);
      }
    }
  }
}

// The tensors of GGUF files that only mixtures have, by the name after that of the layer.
constexpr int64_t kGgufExperts = 3;
std::map<std::string, TensorShape> gguf_expert_shapes(const std::string& architecture) {
  constexpr auto kHidden = static_cast<int64_t>(SmallModel::kHidden);
  const bool is_usual = architecture == "llama" || architecture == "granitemoe";
  const int64_t inner = is_usual ? SmallModel::kInner : 24;
  std::map<std::string, TensorShape> shapes = {
      {"ffn_gate_inp.weight", {kGgufExperts, kHidden}},
      {"ffn_gate_exps.weight", {kGgufExperts, inner, kHidden}},
      {"ffn_up_exps.weight", {kGgufExperts, inner, kHidden}},
      {"ffn_down_exps.weight", {kGgufExperts, kHidden, inner}},
  };
  if (architecture == "llama" || architecture == "qwen3moe") return shapes;
  if (architecture == "glm4moe") shapes["exp_probs_b.bias"] = {kGgufExperts};
  if (architecture == "qwen2moe") shapes["ffn_gate_inp_shexp.weight"] = {kHidden};
  shapes["ffn_gate_shexp.weight"] = {inner, kHidden};
  shapes["ffn_up_shexp.weight"] = {inner, kHidden};
  shapes["ffn_down_shexp.weight"] = {kHidden, inner};
  return shapes;
}

// A file of one layer, which is a mixture whose tensors have these shapes.
std::string gguf_mixture(const std::string& architecture,
                         const std::map<std::string, TensorShape>& experts) {
  std::map<std::string, TensorShape> shapes = experts;
  const auto hidden = static_cast<int64_t>(SmallModel::kHidden);
  const auto head_dim = static_cast<int64_t>(SmallModel::kHeadDim);
  SmallModel model{.architecture = architecture, .without = {}};
  for (const char* name : {"ffn_gate", "ffn_up", "ffn_down"}) {
    model.without.insert("blk.0." + std::string(name) + ".weight");
  }
  if (architecture == "glm4moe") {
    model.without.insert("blk.0.ffn_norm.weight");
    shapes["post_attention_norm.weight"] = {hidden};
  }
  if (architecture == "qwen3moe") {
    shapes["attn_q_norm.weight"] = {head_dim};
    shapes["attn_k_norm.weight"] = {head_dim};
  }
  if (architecture == "qwen2moe") {
    const auto heads = static_cast<int64_t>(SmallModel::kHeads);
    shapes["attn_q.bias"] = {heads * head_dim};
    shapes["attn_k.bias"] = shapes["attn_v.bias"] = {head_dim};
  }
  return model.file([&](GgufWriter& out) {
    out.u32(architecture + ".expert_count", kGgufExperts);
    if (experts.contains("ffn_gate_shexp.weight") && architecture != "glm4moe") {
      out.u32(architecture + ".expert_shared_feed_forward_length",
              static_cast<uint32_t>(architecture == "qwen2moe" ? 24 : SmallModel::kInner));
    }
    out.u32(architecture + ".expert_used_count", 2);
    if (architecture != "llama") out.u32(architecture + ".expert_feed_forward_length", 24);
    if (architecture == "glm4moe") out.u32("glm4moe.leading_dense_block_count", 0);
    for (const auto& [name, shape] : shapes) {
      out.tensor("blk.0." + name, std::vector<uint64_t>(shape.rbegin(), shape.rend()), kGgmlF32,
                 encode_values(small_numbers(shape).values, kGgmlF32));
    }
  });
}

TEST(MixtureWeights, tensors_of_all_experts_in_gguf_of_another_shape_are_named) {
  TemporaryFolder folder;
  for (const char* architecture : {"llama", "granitemoe", "qwen2moe", "qwen3moe", "glm4moe"}) {
    SCOPED_TRACE(architecture);
    const std::map<std::string, TensorShape> right = gguf_expert_shapes(architecture);
    expect_loads(folder.write("m.gguf", gguf_mixture(architecture, right)));
    for (const auto& [name, shape] : right) {
      // A gate may be a vector, or a matrix of one row.
      const bool is_gate = name == "ffn_gate_inp_shexp.weight";
      const TensorShape expected = is_gate ? TensorShape{1, shape.front()} : shape;
      for (const TensorShape& other : other_shapes(shape)) {
        if (other == expected) continue;
        std::map<std::string, TensorShape> wrong = right;
        wrong.at(name) = other;
        expect_refusal(folder.write("m.gguf", gguf_mixture(architecture, wrong)),
                       ErrorCode::kInvalidArgument, "blk.0." + name,
                       expecting(expected) + " (in m.gguf)");
      }
    }
  }
}

TEST(MixtureWeights, experts_in_gguf_that_each_have_a_tensor_are_refused_by_name) {
  TemporaryFolder folder;
  std::map<std::string, TensorShape> shapes = gguf_expert_shapes("llama");
  const TensorShape joined = shapes.at("ffn_gate_exps.weight");
  shapes.erase("ffn_gate_exps.weight");
  shapes["ffn_gate.0.weight"] = {joined[1], joined[2]};
  expect_refusal(folder.write("m.gguf", gguf_mixture("llama", shapes)), ErrorCode::kUnsupported,
                 "blk.0.ffn_gate.0.weight", "do not have");
}

}  // namespace
}  // namespace cascade::testing
