// gpt-oss as a GGUF file: its experts are three tensors each, which a folder has as two.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "model/model.h"
#include "model/weight_choice.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/stepping.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kChainTokens = 150;  // beyond the window, and over several pages
const std::string kGateUp = "gate_up_proj", kDown = "down_proj";

// The values of blocks [..., 16] and their scales, as the Microscaling Formats define them.
std::vector<float> mxfp4_numbers(const std::vector<uint8_t>& blocks,
                                 const std::vector<uint8_t>& scales) {
  constexpr float kNumbers[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  std::vector<float> values;
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (const unsigned code : {blocks[i] & 15u, unsigned{blocks[i]} >> 4}) {
      const float magnitude = std::ldexp(kNumbers[code & 7], scales[i / 16] - 127);
      values.push_back(code < 8 ? magnitude : -magnitude);
    }
  }
  return values;
}

// A tensor [experts, k, n] as [experts, n, k].
PlainTensor transposed(const PlainTensor& tensor) {
  const auto experts = size_t(tensor.shape[0]), k = size_t(tensor.shape[1]),
             n = size_t(tensor.shape[2]);
  PlainTensor out{{tensor.shape[0], tensor.shape[2], tensor.shape[1]},
                  std::vector<float>(tensor.values.size())};
  for (size_t e = 0; e < experts; ++e) {
    for (size_t i = 0; i < k * n; ++i) {
      out.values[e * k * n + i % n * k + i / n] = tensor.values[e * k * n + i];
    }
  }
  return out;
}

// Every second row of [experts, 2 n, ...], from row `first` on.
PlainTensor every_second_row(const PlainTensor& tensor, size_t first) {
  PlainTensor out{tensor.shape, {}};
  out.shape[1] /= 2;
  size_t width = 1;
  for (size_t i = 2; i < tensor.shape.size(); ++i) width *= size_t(tensor.shape[i]);
  for (size_t row = first; row * width < tensor.values.size(); row += 2) {
    out.values.insert(out.values.end(), tensor.values.begin() + ptrdiff_t(row * width),
                      tensor.values.begin() + ptrdiff_t((row + 1) * width));
  }
  return out;
}

// The tensors of a folder as a GGUF file has them, under the names of experts without a number.
PlainTensors with_three_tensors(const PlainTensors& tensors) {
  PlainTensors out;
  for (const auto& [name, tensor] : tensors) {
    const size_t at = name.find(".experts.");
    if (at == std::string::npos) {
      out.emplace(name, tensor);
      continue;
    }
    const bool is_bias = name.ends_with("_bias");
    const std::string before = name.substr(0, at + 9), kind = is_bias ? ".bias" : ".weight";
    const bool is_both = name.find(kGateUp) != std::string::npos;
    if (!is_both) {
      out.emplace(before + kDown + kind, tensor);
      continue;
    }
    out.emplace(before + "gate_proj" + kind, every_second_row(tensor, 0));
    out.emplace(before + "up_proj" + kind, every_second_row(tensor, 1));
  }
  return out;
}

// All tensors of a folder; those of experts as [experts, n, k].
PlainTensors read_gpt_oss(const fs::path& folder) {
  PlainTensors out;
  std::map<std::string, std::vector<uint8_t>> bytes;
  std::map<std::string, std::vector<int64_t>> shapes;
  const auto mapped = MappedFile::open(folder / "model.safetensors");
  const auto entries = parse_safetensors_header(mapped->bytes());
  const uint64_t data = mapped->bytes().size() - entries->back().end;
  for (const TensorEntry& entry : *entries) {
    if (entry.type_name != "U8") continue;
    const auto from = mapped->bytes().subspan(data + entry.begin, entry.end - entry.begin);
    bytes[entry.name].assign(from.begin(), from.end());
    shapes[entry.name] = entry.shape;
  }
  for (const auto& [name, blocks] : bytes) {
    if (!name.ends_with("_blocks")) continue;
    const std::string whole = name.substr(0, name.size() - 7);
    const std::vector<int64_t>& shape = shapes[name];
    out.emplace(whole, PlainTensor{{shape[0], shape[1], shape[2] * 32},
                                   mxfp4_numbers(blocks, bytes[whole + "_scales"])});
  }
  for (auto& [name, tensor] : read_tensors(folder)) {
    const bool is_expert = name.ends_with(kGateUp) || name.ends_with(kDown);
    out.emplace(name, is_expert ? transposed(tensor) : std::move(tensor));
  }
  return out;
}

std::unique_ptr<Model> loaded(const fs::path& path, std::optional<WeightType> type) {
  ModelOptions options = {.kv_type = KvType::kF32, .weights_as_in_files = !type};
  if (type) options.weight_type = *type;
  auto model = load_model(path, options, two_threads());
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return model.ok() ? std::move(model).value() : nullptr;
}

class GptOssFile : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const GgmlType experts = std::string_view(GetParam()) == "gpt-oss" ? kGgmlBf16 : kGgmlMxfp4;
    const auto type_of = [experts](const std::string& name) {
      if (name.ends_with(".bias")) return kGgmlF32;
      return name.find(".experts.") != std::string::npos ? experts : kGgmlBf16;
    };
    write_gguf(source, with_three_tensors(read_gpt_oss(source)), type_of, file);
  }

  const fs::path source = model_dir(GetParam());
  TemporaryFolder folder;
  const fs::path file = folder.path() / "m.gguf";
};

TEST_P(GptOssFile, gives_the_bits_of_the_folder) {
  for (const WeightType type : {WeightType::kMxfp4, WeightType::kF32, WeightType::kInt8}) {
    const auto of_folder = loaded(source, type), of_file = loaded(file, type);
    ASSERT_TRUE(of_folder && of_file);
    EXPECT_EQ(weight_types(*of_file), weight_types(*of_folder));
    EXPECT_EQ(last_logits(*of_file, kChainTokens), last_logits(*of_folder, kChainTokens))
        << weight_types(*of_file);
  }
}

TEST_P(GptOssFile, has_the_configuration_of_the_folder) {
  EXPECT_EQ(*load_model_config(file), *load_model_config(source));
}

TEST_P(GptOssFile, names_the_key_of_an_expert_that_is_too_small) {
  auto text = *read_file(file, size_t{1} << 26);
  const std::string key = "gpt-oss.expert_feed_forward_length";
  const size_t at = text.find(key) + key.size() + sizeof(uint32_t);  // after the type
  text[at] = 7;
  const fs::path changed = folder.path() / "changed.gguf";
  std::ofstream(changed, std::ios::binary) << text;
  const auto config = load_model_config(changed);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().field, key) << config.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(Models, GptOssFile, ::testing::Values("gpt-oss", "gpt-oss-mxfp4"),
                         [](const auto& model) {
                           std::string name = model.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(GptOssFolder, experts_in_mxfp4_are_multiplied_as_they_are) {
  const fs::path source = model_dir("gpt-oss-mxfp4");
  const auto followed = loaded(source, std::nullopt);
  ASSERT_TRUE(followed);
  EXPECT_EQ(weight_types(*followed), "mxfp4 and int8");
  const PlainTensors tensors = read_gpt_oss(source);
  const MixtureConfig& mixture = followed->config.mixture;
  const auto hidden = static_cast<size_t>(followed->config.hidden_size);
  const auto inner = static_cast<size_t>(mixture.intermediate_size);
  std::vector<float> row(hidden);
  for (size_t expert = 0; expert < size_t(mixture.experts); ++expert) {
    const PackedMatrix& w = followed->weights.layers[1].mixture->gate_up[expert].matrices.front();
    ASSERT_EQ(w.type, WeightType::kMxfp4);
    const auto& expected = tensors.at("model.layers.1.mlp.experts.gate_up_proj").values;
    for (size_t channel = 0; channel < 2 * inner; ++channel) {
      get_row(w, static_cast<int>(channel), row.data());
      // Gates come first, then the others.
      const size_t in_file = channel < inner ? 2 * channel : 2 * (channel - inner) + 1;
      for (size_t i = 0; i < hidden; ++i) {
        ASSERT_EQ(row[i], expected[(expert * 2 * inner + in_file) * hidden + i]);
      }
    }
  }
}

}  // namespace
}  // namespace cascade::testing
