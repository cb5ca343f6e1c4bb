// Tensors of a model's folder that are not what its configuration says: each is one error, which
// names the tensor.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/stepping.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {

using TensorShape = std::vector<int64_t>;

// Shapes that are not this one: with a row too few or too many, with another dimension, with the
// last two exchanged, or with the first two as one.
inline std::vector<TensorShape> other_shapes(const TensorShape& shape) {
  TensorShape fewer = shape, more = shape, deeper = shape;
  --fewer.front();
  ++more.front();
  deeper.insert(deeper.begin(), 1);
  std::vector<TensorShape> others = {fewer, more, deeper};
  if (shape.size() == 1) return others;
  TensorShape turned = shape;
  std::swap(turned[turned.size() - 2], turned.back());
  if (turned != shape) others.push_back(turned);
  TensorShape flat(shape.begin() + 1, shape.end());
  flat.front() *= shape.front();
  others.push_back(flat);
  return others;
}

inline PlainTensor small_numbers(const TensorShape& shape) {
  size_t count = 1;
  for (const int64_t dimension : shape) count *= static_cast<size_t>(dimension);
  PlainTensor tensor{shape, std::vector<float>(count)};
  for (size_t i = 0; i < count; ++i) tensor.values[i] = static_cast<float>(i % 7) * 0.01f + 0.01f;
  return tensor;
}

inline Result<std::unique_ptr<Model>> load_weights_in(WeightType type,
                                                      const std::filesystem::path& model) {
  return load_model(model, {.weight_type = type, .kv_type = KvType::kF32}, two_threads());
}

inline void expect_loads(const std::filesystem::path& model) {
  const auto loaded = load_weights_in(WeightType::kF32, model);
  EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
}

inline void expect_refusal(const std::filesystem::path& model, ErrorCode code,
                           const std::string& tensor, const std::string& says,
                           WeightType type = WeightType::kF32) {
  const auto loaded = load_weights_in(type, model);
  ASSERT_FALSE(loaded.ok()) << tensor;
  EXPECT_EQ(loaded.error().code, code) << loaded.error().to_string();
  EXPECT_EQ(loaded.error().field, tensor) << loaded.error().to_string();
  EXPECT_NE(loaded.error().message.find(says), std::string::npos) << loaded.error().to_string();
}

// What an error says about the shape of a tensor that should have this one.
inline std::string expecting(const TensorShape& shape) {
  std::string text;
  for (const int64_t dimension : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(dimension);
  return "expected [" + text + "]";
}

// Expects an error for each wrong shape of each of these tensors of a fixture.
inline void expect_shapes_are_checked(const std::string& fixture,
                                      const std::vector<std::string>& names) {
  const PlainTensors right = read_tensors(model_dir(fixture));
  TemporaryFolder folder;
  for (const std::string& name : names) {
    ASSERT_TRUE(right.contains(name)) << name;
    const TensorShape shape = right.at(name).shape;
    for (const TensorShape& other : other_shapes(shape)) {
      PlainTensors wrong = right;
      wrong.at(name) = small_numbers(other);
      write_folder(model_dir(fixture), wrong, folder.path());
      expect_refusal(folder.path(), ErrorCode::kInvalidArgument, name,
                     expecting(shape) + " (in model.safetensors)");
    }
  }
}

// Expects an error for each of these tensors of a fixture if it is missing.
inline void expect_missing_are_named(const std::string& fixture,
                                     const std::vector<std::string>& names) {
  const PlainTensors right = read_tensors(model_dir(fixture));
  TemporaryFolder folder;
  for (const std::string& name : names) {
    PlainTensors fewer = right;
    ASSERT_EQ(fewer.erase(name), 1u) << name;
    write_folder(model_dir(fixture), fewer, folder.path());
    expect_refusal(folder.path(), ErrorCode::kNotFound, name, "is not in the model's files");
  }
}

}  // namespace cascade::testing
