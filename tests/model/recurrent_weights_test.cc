// The tensors of recurrent layers: where their values go, and errors that name them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/weights_testing.h"

namespace cascade::testing {
namespace {

// A fixture, and the names of all tensors of its first layer's recurrence.
struct RecurrentFixture {
  std::string name;
  std::string prefix;
  std::vector<std::string> tensors;

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const std::string& tensor : tensors) all.push_back(prefix + tensor);
    return all;
  }
};

std::vector<RecurrentFixture> recurrent_fixtures() {
  return {
      {"qwen3-next",
       "model.layers.0.linear_attn.",
       {"in_proj_qkvz.weight", "in_proj_ba.weight", "conv1d.weight", "A_log", "dt_bias",
        "norm.weight", "out_proj.weight"}},
      {"qwen3-5",
       "model.layers.0.linear_attn.",
       {"in_proj_qkv.weight", "in_proj_z.weight", "in_proj_b.weight", "in_proj_a.weight",
        "conv1d.weight", "A_log", "dt_bias", "norm.weight", "out_proj.weight"}},
      {"granite4-hybrid",
       "model.layers.0.mamba.",
       {"in_proj.weight", "in_proj.bias", "conv1d.weight", "conv1d.bias", "A_log", "dt_bias", "D",
        "norm.weight", "out_proj.weight", "out_proj.bias"}},
      {"lfm2",
       "model.layers.0.conv.",
       {"in_proj.weight", "in_proj.bias", "conv.weight", "conv.bias", "out_proj.weight",
        "out_proj.bias"}},
  };
}

// The first layer of a fixture, and its tensors.
struct LoadedRecurrence {
  explicit LoadedRecurrence(const RecurrentFixture& fixture)
      : prefix(fixture.prefix), tensors(read_tensors(model_dir(fixture.name))) {
    auto loaded = load_weights_in(WeightType::kF32, model_dir(fixture.name));
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
    if (loaded.ok()) model = std::move(loaded).value();
  }

  const LayerWeights& layer() const { return model->weights.layers.front(); }
  const RecurrentWeights& weights() const { return *layer().recurrent; }
  const PlainTensor& tensor(const std::string& name) const { return tensors.at(prefix + name); }

  std::string prefix;
  PlainTensors tensors;
  std::unique_ptr<Model> model;
};

// Expects the rows of a tensor in the rows of a stack from `channel` on.
void expect_rows(const StackedMatrix& stack, int channel, const PlainTensor& tensor) {
  const auto width = static_cast<size_t>(stack.k());
  ASSERT_EQ(tensor.shape.back(), stack.k());
  std::vector<float> row(width);
  for (size_t i = 0; i * width < tensor.values.size(); ++i) {
    int at = channel + static_cast<int>(i);
    auto matrix = stack.matrices.begin();
    for (; at >= matrix->n_padded; ++matrix) at -= matrix->n_padded;
    get_row(*matrix, at, row.data());
    const auto begin = tensor.values.begin() + static_cast<ptrdiff_t>(i * width);
    ASSERT_TRUE(std::equal(row.begin(), row.end(), begin)) << "row " << i;
  }
}

void expect_taps(const LoadedRecurrence& loaded, const std::string& name) {
  const PlainTensor& tensor = loaded.tensor(name);
  const auto channels = static_cast<size_t>(tensor.shape[0]);
  const auto taps = static_cast<size_t>(tensor.shape[2]);
  const std::vector<float>& found = loaded.weights().taps;
  ASSERT_EQ(found.size(), channels * taps);
  for (size_t channel = 0; channel < channels; ++channel) {
    for (size_t tap = 0; tap < taps; ++tap) {
      ASSERT_EQ(found[tap * channels + channel], tensor.values[channel * taps + tap]);
    }
  }
}

// Expects what delta net and Mamba have in common.
void expect_steps(const LoadedRecurrence& loaded) {
  const RecurrentWeights& w = loaded.weights();
  expect_taps(loaded, "conv1d.weight");
  EXPECT_EQ(w.step_bias, loaded.tensor("dt_bias").values);
  EXPECT_EQ(w.norm, loaded.tensor("norm.weight").values) << "this norm adds nothing";
  const std::vector<float>& logs = loaded.tensor("A_log").values;
  ASSERT_EQ(w.decay_rate.size(), logs.size());
  for (size_t i = 0; i < logs.size(); ++i) {
    EXPECT_NEAR(w.decay_rate[i], -std::exp(logs[i]), 1e-6 * std::exp(logs[i]));
  }
  expect_rows(loaded.layer().output, 0, loaded.tensor("out_proj.weight"));
  EXPECT_TRUE(loaded.layer().qkv.matrices.empty());
}

TEST(RecurrentWeights, of_qwen3_next_have_one_projection_key_head_by_key_head) {
  const LoadedRecurrence loaded(recurrent_fixtures()[0]);
  const RecurrentWeights& w = loaded.weights();
  EXPECT_EQ(w.input.offset, std::vector<int>{0});
  EXPECT_EQ(w.steps.offset, std::vector<int>{0});
  expect_rows(w.input, 0, loaded.tensor("in_proj_qkvz.weight"));
  expect_rows(w.steps, 0, loaded.tensor("in_proj_ba.weight"));
  expect_steps(loaded);
  EXPECT_TRUE(w.input.bias.empty() && w.taps_bias.empty() && w.skip.empty());
  EXPECT_EQ(loaded.model->weights.layers[1].recurrent, nullptr) << "it attends";
}

TEST(RecurrentWeights, of_qwen3_5_have_projections_that_are_apart) {
  const LoadedRecurrence loaded(recurrent_fixtures()[1]);
  const RecurrentWeights& w = loaded.weights();
  ASSERT_EQ(w.input.offset, (std::vector<int>{0, 112}));
  ASSERT_EQ(w.steps.offset, (std::vector<int>{0, 16}));
  expect_rows(w.input, 0, loaded.tensor("in_proj_qkv.weight"));
  expect_rows(w.input, 112, loaded.tensor("in_proj_z.weight"));
  expect_rows(w.steps, 0, loaded.tensor("in_proj_b.weight"));
  expect_rows(w.steps, 16, loaded.tensor("in_proj_a.weight"));
  expect_steps(loaded);
}

TEST(RecurrentWeights, of_granite_have_a_skip_and_biases) {
  const LoadedRecurrence loaded(recurrent_fixtures()[2]);
  const RecurrentWeights& w = loaded.weights();
  EXPECT_EQ(w.input.offset, std::vector<int>{0});
  EXPECT_TRUE(w.steps.matrices.empty());
  expect_rows(w.input, 0, loaded.tensor("in_proj.weight"));
  std::vector<float> bias = loaded.tensor("in_proj.bias").values;
  bias.resize(size_t(w.input.n_padded()));
  EXPECT_EQ(w.input.bias, bias);
  EXPECT_EQ(w.taps_bias, loaded.tensor("conv1d.bias").values);
  EXPECT_EQ(w.skip, loaded.tensor("D").values);
  EXPECT_EQ(loaded.layer().output.bias, loaded.tensor("out_proj.bias").values);
  expect_steps(loaded);
}

TEST(RecurrentWeights, of_lfm2_have_neither_steps_nor_norms) {
  const LoadedRecurrence loaded(recurrent_fixtures()[3]);
  const RecurrentWeights& w = loaded.weights();
  expect_rows(w.input, 0, loaded.tensor("in_proj.weight"));
  EXPECT_EQ(w.input.bias, loaded.tensor("in_proj.bias").values);
  expect_taps(loaded, "conv.weight");
  EXPECT_EQ(w.taps_bias, loaded.tensor("conv.bias").values);
  expect_rows(loaded.layer().output, 0, loaded.tensor("out_proj.weight"));
  EXPECT_EQ(loaded.layer().output.bias, loaded.tensor("out_proj.bias").values);
  EXPECT_TRUE(w.steps.matrices.empty() && w.decay_rate.empty() && w.step_bias.empty());
  EXPECT_TRUE(w.skip.empty() && w.norm.empty());
  EXPECT_EQ(loaded.layer().attention_norm,
            loaded.tensors.at("model.layers.0.operator_norm.weight").values);
  EXPECT_EQ(loaded.layer().mlp_norm, loaded.tensors.at("model.layers.0.ffn_norm.weight").values);
  EXPECT_EQ(loaded.model->weights.final_norm,
            loaded.tensors.at("model.embedding_norm.weight").values);
}

TEST(RecurrentWeights, tensors_that_are_missing_are_named) {
  for (const RecurrentFixture& fixture : recurrent_fixtures()) {
    SCOPED_TRACE(fixture.name);
    expect_missing_are_named(fixture.name, fixture.names());
  }
}

TEST(RecurrentWeights, tensors_of_delta_nets_of_another_shape_are_named) {
  for (const size_t index : {0, 1}) {
    const RecurrentFixture fixture = recurrent_fixtures()[index];
    SCOPED_TRACE(fixture.name);
    expect_shapes_are_checked(fixture.name, fixture.names());
  }
}

TEST(RecurrentWeights, tensors_of_mamba_and_convolutions_of_another_shape_are_named) {
  for (const size_t index : {2, 3}) {
    const RecurrentFixture fixture = recurrent_fixtures()[index];
    SCOPED_TRACE(fixture.name);
    expect_shapes_are_checked(fixture.name, fixture.names());
  }
}

// Loads a fixture with a value of a tensor that is another one.
void expect_value_is_refused(const RecurrentFixture& fixture, const std::string& name, float value,
                             ErrorCode code, const std::string& says) {
  PlainTensors wrong = read_tensors(model_dir(fixture.name));
  wrong.at(name).values.back() = value;
  TemporaryFolder folder;
  write_folder(model_dir(fixture.name), wrong, folder.path());
  expect_refusal(folder.path(), code, name, says);
}

TEST(RecurrentWeights, values_that_are_not_finite_are_an_error_of_their_tensor) {
  for (const RecurrentFixture& fixture : recurrent_fixtures()) {
    SCOPED_TRACE(fixture.name);
    for (const std::string& name : fixture.names()) {
      for (const float value :
           {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        expect_value_is_refused(fixture, name, value, ErrorCode::kDataCorrupt, "infinite");
      }
    }
  }
}

TEST(RecurrentWeights, logarithms_of_rates_that_are_too_large_are_refused) {
  for (const size_t index : {0, 1, 2}) {
    const RecurrentFixture fixture = recurrent_fixtures()[index];
    for (const float value : {89.0f, 100.0f, 3e38f}) {
      expect_value_is_refused(fixture, fixture.prefix + "A_log", value, ErrorCode::kUnsupported,
                              "exponentials are not finite (in model.safetensors)");
    }
  }
}

TEST(RecurrentWeights, tensors_that_other_kinds_have_are_refused) {
  for (const auto& [index, name] : {std::pair<size_t, const char*>(0, "in_proj_z.weight"),
                                    {1, "D"},
                                    {2, "in_proj_z.weight"},
                                    {3, "norm.weight"}}) {
    const RecurrentFixture fixture = recurrent_fixtures()[index];
    PlainTensors more = read_tensors(model_dir(fixture.name));
    more[fixture.prefix + name] = small_numbers({8, 32});
    TemporaryFolder folder;
    write_folder(model_dir(fixture.name), more, folder.path());
    expect_refusal(folder.path(), ErrorCode::kUnsupported, fixture.prefix + name,
                   "does not use it");
  }
}

// Moves rows of a tensor to others: of each group, counts[i] rows go to the end of to[i].
void split_rows(PlainTensors& tensors, const std::string& name, const std::vector<int64_t>& counts,
                const std::vector<std::string>& to) {
  const PlainTensor all = tensors.extract(name).mapped();
  const auto width = static_cast<size_t>(all.shape[1]);
  for (size_t at = 0; at < all.values.size();) {
    for (size_t i = 0; i < counts.size(); ++i) {
      PlainTensor& part = tensors[to[i]];
      part.shape = {(part.shape.empty() ? 0 : part.shape[0]) + counts[i], all.shape[1]};
      const auto begin = all.values.begin() + static_cast<ptrdiff_t>(at);
      const size_t values = static_cast<size_t>(counts[i]) * width;
      part.values.insert(part.values.end(), begin, begin + static_cast<ptrdiff_t>(values));
      at += values;
    }
  }
}

// Rows of queries, keys and values one after the other, as the convolution has them.
void join_rows(PlainTensors& tensors, const std::vector<std::string>& from, const std::string& to) {
  PlainTensor all = tensors.extract(from.front()).mapped();
  for (size_t i = 1; i < from.size(); ++i) {
    const PlainTensor part = tensors.extract(from[i]).mapped();
    all.shape[0] += part.shape[0];
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
  }
  tensors[to] = all;
}

TEST(RecurrentWeights, of_qwen3_next_may_be_apart_or_together) {
  const auto source = model_dir("qwen3-next");
  const PlainTensors together = read_tensors(source);
  PlainTensors apart = together;
  // Two key heads of 8 channels, each with three value heads of 16.
  for (const std::string layer : {"0", "2"}) {
    const std::string prefix = "model.layers." + layer + ".linear_attn.in_proj_";
    split_rows(apart, prefix + "qkvz.weight", {8, 8, 48, 48}, {"q", "k", "v", prefix + "z.weight"});
    join_rows(apart, {"q", "k", "v"}, prefix + "qkv.weight");
    split_rows(apart, prefix + "ba.weight", {3, 3}, {prefix + "b.weight", prefix + "a.weight"});
  }
  TemporaryFolder folder;
  write_folder(source, together, folder.path());
  const auto first = load_weights_in(WeightType::kF32, folder.path());
  write_folder(source, apart, folder.path());
  const auto second = load_weights_in(WeightType::kF32, folder.path());
  ASSERT_TRUE(first.ok() && second.ok()) << second.error().to_string();
  EXPECT_EQ((*first)->weights.layers.front().recurrent->input.offset.size(), 1u);
  EXPECT_EQ((*second)->weights.layers.front().recurrent->input.offset.size(), 2u);
  EXPECT_EQ(testing::last_logits(**first), testing::last_logits(**second));
}

TEST(RecurrentWeights, queries_of_gated_attention_come_before_their_gates) {
  for (const char* fixture : {"qwen3-next", "qwen3-5"}) {
    const auto loaded = load_weights_in(WeightType::kF32, model_dir(fixture));
    ASSERT_TRUE(loaded.ok());
    const ModelConfig& config = (*loaded)->config;
    const int index = config.recurrent.is_recurrent(1) ? 3 : 1;
    const PlainTensors tensors = read_tensors(model_dir(fixture));
    const std::string prefix = "model.layers." + std::to_string(index) + ".self_attn.";
    // Each head of the file has the rows of its queries, then those of its gates.
    PlainTensors parts = {{"all", tensors.at(prefix + "q_proj.weight")}};
    split_rows(parts, "all", {config.head_dim, config.head_dim}, {"queries", "gates"});
    const StackedMatrix& qkv = (*loaded)->weights.layers[size_t(index)].qkv;
    const int size = config.query_heads * config.head_dim;
    ASSERT_EQ(qkv.offset[1], 2 * size);
    expect_rows(qkv, 0, parts.at("queries"));
    expect_rows(qkv, size, parts.at("gates"));
    expect_rows(qkv, qkv.offset[1], tensors.at(prefix + "k_proj.weight"));
    if (qkv.bias.empty()) continue;
    parts["bias"] = tensors.at(prefix + "q_proj.bias");
    parts.at("bias").shape.push_back(1);
    split_rows(parts, "bias", {config.head_dim, config.head_dim}, {"bias q", "bias g"});
    std::vector<float> expected = parts.at("bias q").values;
    const std::vector<float>& of_gates = parts.at("bias g").values;
    expected.insert(expected.end(), of_gates.begin(), of_gates.end());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), qkv.bias.begin()));
  }
}

}  // namespace
}  // namespace cascade::testing
