// Loads the demo model's weights through a cache of packed weights, as often as a test likes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "model/weights.h"
#include "tests/model/safetensors_file.h"
#include "tests/shared_dir.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {

struct LoadedWeights {
  Weights weights;
  LoadReport report;
  int64_t done_bytes = 0, total_bytes = 0;  // of its LoadProgress, in the end

  std::span<const uint8_t> bytes() const { return {weights.memory.data(), weights.memory.bytes()}; }
  bool same_as(const LoadedWeights& other) const {
    return weights.digest == other.weights.digest && std::ranges::equal(bytes(), other.bytes());
  }
  std::string warnings() const {
    std::string all;
    for (const std::string& warning : report.warnings) all += warning + "\n";
    return all;
  }
};

// Loads with the state directory `state_dir` (empty: none), at a time when no file counts as just
// written, and waits until the weights are kept.
inline LoadedWeights load_packed(const std::filesystem::path& model_dir,
                                 const std::filesystem::path& state_dir,
                                 WeightType type = WeightType::kInt8,
                                 FileCalls& calls = system_file_calls(),
                                 int64_t wall_us = int64_t{1} << 52) {
  static ThreadPool pool(2);
  FakeClock clock;
  clock.set_wall_us(wall_us);
  LoadedWeights loaded;
  std::vector<std::string> late_warnings;
  PackedCache cache(state_dir, calls, clock,
                    [&](const std::string& warning) { late_warnings.push_back(warning); });
  const auto files = TensorFiles::open(model_dir);
  const auto text = read_file(model_dir / "config.json", 1 << 20);
  const auto config = parse_model_config(*parse_json(*text, "config.json"));
  LoadProgress progress;
  auto weights = load_weights(*files, *config, type, **kernels_for(Isa::kScalar), pool, cache,
                              loaded.report, &progress);
  loaded.done_bytes = progress.done_bytes();
  loaded.total_bytes = progress.total_bytes();
  if (weights.ok()) {
    loaded.weights = std::move(weights).value();
    if (loaded.weights.keeper != nullptr) loaded.weights.keeper->wait();
    std::ranges::move(late_warnings, std::back_inserter(loaded.report.warnings));
  } else {
    ADD_FAILURE() << weights.error().to_string();
  }
  return loaded;
}

// A model that is packed in a moment, for tests that load it hundreds of times: one layer, with
// arbitrary bytes as weights that are small numbers in bf16.
class TinyModel {
 public:
  TinyModel() {
    const int hidden = 64, inner = 128, vocab = 512;
    folder_.write("config.json", Json({{"model_type", "llama"},
                                       {"hidden_act", "silu"},
                                       {"rope_theta", 10000.0},
                                       {"hidden_size", hidden},
                                       {"intermediate_size", inner},
                                       {"num_hidden_layers", 1},
                                       {"num_attention_heads", 2},
                                       {"num_key_value_heads", 2},
                                       {"head_dim", 32},
                                       {"vocab_size", vocab},
                                       {"max_position_embeddings", 128},
                                       {"rms_norm_eps", 1e-6},
                                       {"tie_word_embeddings", true},
                                       {"eos_token_id", 1}})
                                     .dump());
    const std::string layer = "model.layers.0.";
    const std::vector<std::pair<std::string, Json>> tensors = {
        {"model.embed_tokens.weight", {vocab, hidden}},
        {"model.norm.weight", Json::array({hidden})},
        {layer + "input_layernorm.weight", Json::array({hidden})},
        {layer + "post_attention_layernorm.weight", Json::array({hidden})},
        {layer + "self_attn.q_proj.weight", {hidden, hidden}},
        {layer + "self_attn.k_proj.weight", {hidden, hidden}},
        {layer + "self_attn.v_proj.weight", {hidden, hidden}},
        {layer + "self_attn.o_proj.weight", {hidden, hidden}},
        {layer + "mlp.gate_proj.weight", {inner, hidden}},
        {layer + "mlp.up_proj.weight", {inner, hidden}},
        {layer + "mlp.down_proj.weight", {hidden, inner}}};
    Json header = Json::object();
    std::string data;
    for (const auto& [name, shape] : tensors) {
      const size_t begin = data.size();
      size_t count = 1;
      for (const int dimension : shape) count *= static_cast<size_t>(dimension);
      for (size_t i = 0; i < count; ++i) {
        data += static_cast<char>(counter_random(1, data.size()));
        data += '\x3C';  // about 0.01
      }
      header[name] = tensor_json("BF16", shape, begin, data.size());
    }
    folder_.write("model.safetensors", safetensors(header.dump(), data));
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

// The files of a state directory's cache whose names end with `suffix`, sorted.
inline std::vector<std::filesystem::path> cache_files(const std::filesystem::path& state_dir,
                                                      std::string_view suffix) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(state_dir / "weights", none)) {
    if (file.path().string().ends_with(suffix)) files.push_back(file.path());
  }
  std::ranges::sort(files);
  return files;
}

// A copy of the demo model's configuration and weights that tests may change.
class ModelCopy {
 public:
  ModelCopy() {
    for (const auto& file : std::filesystem::directory_iterator(demo_model_dir())) {
      std::filesystem::copy_file(file.path(), folder_.path() / file.path().filename());
      std::filesystem::permissions(folder_.path() / file.path().filename(),
                                   std::filesystem::perms::owner_all);
    }
  }
  const std::filesystem::path& path() const { return folder_.path(); }
  // One of the files that hold tensors.
  std::filesystem::path shard() const { return path() / "model-00002-of-00003.safetensors"; }

 private:
  TemporaryFolder folder_;
};

}  // namespace cascade::testing
