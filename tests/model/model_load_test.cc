// Loading a model folder: what is read, which error a damaged folder gives, and on what the root
// key depends.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "model/model.h"
#include "tests/model/safetensors_file.h"
#include "tests/shared_dir.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

ThreadPool& one_thread() {
  static ThreadPool pool(1);
  return pool;
}

// A copy of the demo model whose weights are links, so that single files can be replaced.
class DemoCopy {
 public:
  DemoCopy() {
    for (const auto& file : fs::directory_iterator(demo_model_dir())) {
      const fs::path copy = folder_.path() / file.path().filename();
      if (file.path().extension() == ".safetensors") {
        fs::create_symlink(file.path(), copy);
      } else {
        fs::copy_file(file.path(), copy);
      }
    }
  }
  const fs::path& path() const { return folder_.path(); }
  void write(std::string_view name, std::string_view content) { folder_.write(name, content); }
  void remove(std::string_view name) { fs::remove(path() / name); }

  // Sets one key of a JSON file.
  void set(std::string_view name, std::string_view key, const Json& value) {
    Json json = *parse_json(*read_file(path() / name, 64 << 20), "file");
    json[std::string(key)] = value;
    write(name, json.dump());
  }

  Result<std::unique_ptr<Model>> load() const { return load_model(path(), {}, one_thread()); }
  // The error of loading the copy.
  Error error() const {
    auto model = load();
    EXPECT_FALSE(model.ok());
    return model.ok() ? Error() : std::move(model).error();
  }

 private:
  TemporaryFolder folder_;
};

TEST(ModelLoad, reads_the_demo_model) {
  const auto model = load_model(demo_model_dir(), {}, one_thread());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ((*model)->name, "demo");
  EXPECT_EQ((*model)->config.layers, 8);
  EXPECT_EQ((*model)->weights.layers.size(), 8u);
  EXPECT_TRUE((*model)->templates.choose(/*tools=*/false).ok());
  const OrderedJson tokens = load_model_text(demo_model_dir())->template_tokens;
  EXPECT_EQ(tokens["eos_token"], "<|im_end|>");
  EXPECT_FALSE(tokens.contains("bos_token")) << "null in the file";
  EXPECT_EQ((*model)->generation.end_tokens, (std::vector<int32_t>{8185, 8183}));
  EXPECT_EQ((*model)->kv_layout.parts[0].kv_heads, 2);
}

TEST(ModelLoad, reads_the_long_model) {
  const fs::path path = source_dir() / "models/long";
  EXPECT_TRUE(check_model(path, {}).ok());
  const auto config = load_model_config(path);
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->context_tokens_max, 262'144);
}

TEST(ModelLoad, the_name_is_the_folders_however_its_path_is_written) {
  const fs::path parent = demo_model_dir().parent_path();
  for (const fs::path& path :
       {demo_model_dir() / "", demo_model_dir() / ".", parent / "demo" / ".." / "demo"}) {
    const auto model = load_model(path, {}, one_thread());
    ASSERT_TRUE(model.ok());
    EXPECT_EQ((*model)->name, "demo") << path;
  }
}

TEST(ModelLoad, a_template_that_cannot_be_used_is_a_warning) {
  DemoCopy copy;
  copy.write("chat_template.jinja", "{% include 'x' %}");
  const auto model = load_model(copy.path(), {}, one_thread());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  ASSERT_EQ((*model)->load.warnings.size(), 1u);
  EXPECT_NE((*model)->load.warnings[0].find("--chat-template FILE replaces it"), std::string::npos);
  EXPECT_FALSE((*model)->templates.choose(/*tools=*/false).ok());
}

TEST(ModelLoad, a_template_that_the_operator_names_replaces_the_models) {
  DemoCopy copy;
  copy.write("chat_template.jinja", "{% include 'x' %}");
  ModelOptions options;
  options.chat_template = copy.path() / "other.jinja";
  const auto absent = load_model(copy.path(), options, one_thread());
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  copy.write("other.jinja", "{% if %}");
  const auto wrong = load_model(copy.path(), options, one_thread());
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().field, options.chat_template.string());
  EXPECT_FALSE(check_model(copy.path(), options).ok());
  copy.write("other.jinja", "{{ messages[0].content }}!");
  const auto model = load_model(copy.path(), options, one_thread());
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE((*model)->load.warnings.empty());
  EXPECT_TRUE((*model)->templates.choose(/*tools=*/true).ok());
}

TEST(ModelLoad, a_rope_scaling_that_the_operator_names_replaces_the_models) {
  ModelOptions options;
  options.rope_scaling = ContextExtension{ContextExtension::Type::kYarn, 4, 0};
  const auto plain = load_model(demo_model_dir(), {}, one_thread());
  const auto longer = load_model(demo_model_dir(), options, one_thread());
  ASSERT_TRUE(longer.ok()) << longer.error().to_string();
  EXPECT_EQ((*longer)->config.context_tokens_max, 4 * (*plain)->config.context_tokens_max);
  EXPECT_EQ((*longer)->config.rope.scaling, RopeScaling::kYarn);
  EXPECT_NE((*longer)->root_key("a"), (*plain)->root_key("a"));
  const auto config = load_model_config(demo_model_dir(), options);
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(*config, (*longer)->config);

  DemoCopy trained_with_llama3;
  trained_with_llama3.set("config.json", "rope_parameters",
                          {{"rope_type", "llama3"},
                           {"rope_theta", 1e6},
                           {"factor", 8},
                           {"low_freq_factor", 1},
                           {"high_freq_factor", 4},
                           {"original_max_position_embeddings", 2048}});
  const auto refused = load_model(trained_with_llama3.path(), options, one_thread());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "rope_scaling");
  EXPECT_EQ(check_model(trained_with_llama3.path(), options).error().field, "rope_scaling");
}

TEST(ModelLoad, a_folder_that_is_not_there_is_not_found) {
  for (const fs::path& path :
       {demo_model_dir() / "missing", demo_model_dir() / "config.json", fs::path("")}) {
    const auto model = load_model(path, {}, one_thread());
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, ErrorCode::kNotFound) << path;
  }
}

TEST(ModelLoad, missing_files_are_named) {
  for (const char* name : {"config.json", "tokenizer.json", "model-00002-of-00003.safetensors"}) {
    DemoCopy copy;
    copy.remove(name);
    const Error error = copy.error();
    EXPECT_EQ(error.code, ErrorCode::kNotFound) << name;
    EXPECT_NE(error.to_string().find(name), std::string::npos) << error.to_string();
  }
  DemoCopy copy;
  copy.remove("generation_config.json");
  EXPECT_TRUE(copy.load().ok()) << "not every model has one";
}

TEST(ModelLoad, damaged_json_is_an_error_of_that_file) {
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json",
                           "generation_config.json", "model.safetensors.index.json"}) {
    for (const char* content : {"", "{", "[]", "null", "\xFF", "{\"a\":1}{"}) {
      DemoCopy copy;
      copy.write(name, content);
      const auto model = copy.load();
      if (model.ok()) {
        // A null is the same as no file where the file is optional.
        EXPECT_STREQ(content, "null") << name;
        continue;
      }
      EXPECT_NE(model.error().code, ErrorCode::kInternal);
      EXPECT_FALSE(model.error().message.empty());
    }
  }
}

TEST(ModelLoad, weights_that_do_not_fit_the_configuration_are_named) {
  const std::vector<std::pair<std::string, Json>> cases = {
      {"intermediate_size", 1032}, {"num_key_value_heads", 3}, {"num_hidden_layers", 9},
      {"hidden_size", 392},        {"vocab_size", 9000},       {"tie_word_embeddings", false},
      {"attention_bias", true},    {"head_dim", 128}};
  for (const auto& [key, value] : cases) {
    DemoCopy copy;
    copy.set("config.json", "layer_types", nullptr);
    copy.set("config.json", key, value);
    const Error error = copy.error();
    EXPECT_TRUE(error.code == ErrorCode::kNotFound || error.code == ErrorCode::kInvalidArgument);
    EXPECT_TRUE(error.field.starts_with("model.") || error.field.starts_with("lm_head"))
        << key << ": " << error.to_string();
  }
  DemoCopy copy;
  copy.set("config.json", "vocab_size", 8188);  // fewer than the tokenizer's
  EXPECT_EQ(copy.error().field, "vocab_size");
}

// Adds tensors of f32 zeros to a model of one file.
void add_tensors(const fs::path& file, const std::vector<std::pair<std::string, int>>& tensors) {
  const std::string bytes = *read_file(file, 64 << 20);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  Json header = Json::parse(bytes.substr(sizeof header_bytes, header_bytes));
  std::string data = bytes.substr(sizeof header_bytes + header_bytes);
  for (const auto& [name, size] : tensors) {
    const size_t begin = data.size(), end = begin + size_t(size) * sizeof(float);
    header[name] = tensor_json("F32", {size}, begin, end);
    data.resize(end);
  }
  std::ofstream(file, std::ios::binary) << safetensors(header.dump(), data);
}

// A copy of a reference model with further tensors.
class ReferenceCopy {
 public:
  ReferenceCopy(std::string_view model, const std::vector<std::pair<std::string, int>>& tensors) {
    for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"}) {
      const fs::path copy = folder_.path() / name;
      fs::copy_file(fixtures_dir() / model / name, copy);
      fs::permissions(copy, fs::perms::owner_all);
    }
    add_tensors(folder_.path() / "model.safetensors", tensors);
  }
  void set(std::string_view key, const Json& value) {
    Json json = *parse_json(*read_file(folder_.path() / "config.json", 1 << 20), "file");
    json[std::string(key)] = value;
    folder_.write("config.json", json.dump());
  }
  Result<std::unique_ptr<Model>> load() const {
    return load_model(folder_.path(), {}, one_thread());
  }

 private:
  TemporaryFolder folder_;
};

TEST(ModelLoad, a_tensor_that_a_layer_has_no_use_for_is_refused_by_name) {
  for (const char* name :
       {"model.layers.0.self_attn.q_proj.bias", "model.layers.99.mlp.x",
        "model.layers.1.self_attn.sinks", "model.layers.0.rotary_emb.inv_freqs"}) {
    const auto model = ReferenceCopy("qwen3-gqa", {{name, 8}}).load();
    ASSERT_FALSE(model.ok()) << name;
    EXPECT_EQ(model.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(model.error().field, name);
  }
  // As a "llama", the model would run without its norms of queries and keys.
  ReferenceCopy mistaken("qwen3-gqa", {});
  EXPECT_TRUE(mistaken.load().ok());
  mistaken.set("model_type", "llama");
  const auto model = mistaken.load();
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().field, "model.layers.0.self_attn.k_norm.weight");
  EXPECT_NE(model.error().message.find("model_type \"llama\""), std::string::npos)
      << model.error().to_string();
  ReferenceCopy short_one("qwen3-gqa", {});
  short_one.set("num_hidden_layers", 1);
  short_one.set("layer_types", nullptr);
  const auto shorter = short_one.load();
  ASSERT_FALSE(shorter.ok());
  EXPECT_TRUE(shorter.error().field.starts_with("model.layers.1.")) << shorter.error().field;
}

TEST(ModelLoad, tensors_that_change_nothing_are_left_out) {
  const ReferenceCopy copy("qwen3-gqa", {{"model.layers.0.self_attn.rotary_emb.inv_freq", 8},
                                         {"model.rotary_emb.inv_freq", 8}});
  const auto model = copy.load();
  EXPECT_TRUE(model.ok()) << model.error().to_string();
}

TEST(ModelLoad, a_head_beside_tied_embeddings_is_left_out) {
  ReferenceCopy copy("qwen3-gqa", {});
  copy.set("tie_word_embeddings", true);
  const auto model = copy.load();
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ((*model)->weights.head.data, nullptr);
}

TEST(ModelLoad, errors_of_configurations_name_the_file) {
  DemoCopy copy;
  copy.set("generation_config.json", "temperature", 1000);
  EXPECT_NE(copy.error().message.find("(in generation_config.json)"), std::string::npos);
  copy.set("config.json", "num_hidden_layers", 0);
  EXPECT_NE(copy.error().message.find("(in config.json)"), std::string::npos);
}

TEST(ModelLoad, the_name_is_text_whatever_the_folder_is_called) {
  const TemporaryFolder folder;
  const fs::path odd = folder.path() / "mod\xFF";
  fs::copy(demo_model_dir(), odd);
  const auto model = load_model(odd, {}, one_thread());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ((*model)->name, "mod\uFFFD");
}

TEST(ModelLoad, a_configuration_cannot_ask_for_more_memory_than_its_weights_have) {
  DemoCopy copy;
  copy.set("config.json", "layer_types", nullptr);
  copy.set("config.json", "intermediate_size", 65536);
  copy.set("config.json", "num_hidden_layers", 512);
  EXPECT_EQ(copy.error().code, ErrorCode::kInvalidArgument);
}

TEST(RootKey, depends_on_all_that_k_and_v_depend_on) {
  const auto loaded = load_model(demo_model_dir(), {}, one_thread());
  ASSERT_TRUE(loaded.ok());
  Model& model = **loaded;
  std::set<Digest> keys = {model.root_key("a")};
  const auto is_new = [&](const char* tenant = "a") {
    return keys.insert(model.root_key(tenant)).second;
  };
  EXPECT_FALSE(is_new());
  model.name = "other";
  model.generation.temperature = 7;
  EXPECT_FALSE(is_new()) << "neither names nor sampling count";
  EXPECT_TRUE(is_new("b"));
  EXPECT_TRUE(is_new(""));
  const auto changed = [&](auto& member, auto value) {
    const auto before = std::exchange(member, value);
    const bool result = is_new();
    member = before;
    return result;
  };
  EXPECT_TRUE(changed(model.options.weight_type, WeightType::kF32));
  EXPECT_TRUE(changed(model.options.kv_type, KvType::kF32));
  EXPECT_TRUE(changed(model.options.isa, Isa::kOpenblas));
  EXPECT_TRUE(changed(model.config.rope.theta, 5.0));
  EXPECT_TRUE(changed(model.config.rope.scaling, RopeScaling::kLinear));
  EXPECT_TRUE(changed(model.config.rope.factor, 5.0));
  EXPECT_TRUE(changed(model.config.rope.attention_factor, 5.0));
  EXPECT_TRUE(changed(model.config.rope.rotary_share, 0.5));
  EXPECT_TRUE(changed(model.config.rope.divisors, std::vector<float>(32, 2.0f)));
  EXPECT_TRUE(changed(model.config.local_rope.theta, 5.0));
  EXPECT_TRUE(changed(model.config.layer_rope, std::vector<LayerRope>(8, LayerRope::kNone)));
  EXPECT_TRUE(changed(model.config.rms_norm_eps, 1e-5f));
  EXPECT_TRUE(changed(model.config.activation, Activation::kGeluTanh));
  EXPECT_TRUE(changed(model.config.qk_norm, QkNorm::kNone));
  EXPECT_TRUE(changed(model.config.norms_add_one, true));
  EXPECT_TRUE(changed(model.config.attention_scale, 0.5f));
  EXPECT_TRUE(changed(model.config.attention_soft_cap, 50.0f));
  EXPECT_TRUE(changed(model.config.residual_multiplier, 0.5f));
  EXPECT_TRUE(changed(model.weights.embedding_multiplier, 2.0f));
  EXPECT_TRUE(changed(model.config.window, std::vector<int>(8, 100)));
  EXPECT_TRUE(changed(model.weights.digest.bytes[31], uint8_t(model.weights.digest.bytes[31] ^ 1)));
  // Instruction sets that compute the same bits share their chains.
  model.options.isa = Isa::kAvx512;
  EXPECT_FALSE(is_new());
}

TEST(RootKey, with_the_models_own_types_is_its_own) {
  const auto loaded = load_model(demo_model_dir(), {}, one_thread());
  ASSERT_TRUE(loaded.ok());
  const Model& model = **loaded;
  const auto files = open_model_tensors(demo_model_dir());
  ASSERT_TRUE(files.ok());
  const auto packed =
      describe_weights(*files, model.config, model.options.weight_type, *model.kernels);
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(model.root_key_with("a", model.options, *packed), model.root_key("a"));
  ModelOptions other = model.options;
  other.kv_type = KvType::kF32;
  EXPECT_NE(model.root_key_with("a", other, *packed), model.root_key("a"));
}

TEST(AnswerKey, depends_on_more_than_k_and_v) {
  const auto loaded = load_model(demo_model_dir(), {}, one_thread());
  ASSERT_TRUE(loaded.ok());
  Model& model = **loaded;
  const Digest key = model.answer_key();
  model.name = "other";
  EXPECT_EQ(model.answer_key(), key);
  const auto changed = [&](auto& member, auto value) {
    const auto before = std::exchange(member, value);
    const bool result = model.answer_key() != key;
    member = before;
    return result;
  };
  EXPECT_TRUE(changed(model.options.kv_type, KvType::kF32));
  EXPECT_TRUE(changed(model.config.logit_soft_cap, 30.0f));
  EXPECT_TRUE(changed(model.config.logit_multiplier, 0.5f));
  EXPECT_TRUE(changed(model.generation.temperature, 7.0));
  EXPECT_TRUE(changed(model.generation.end_tokens, std::vector<int32_t>{5}));
  EXPECT_EQ(model.answer_key(), key);
}

TEST(RootKey, one_changed_weight_changes_the_digest) {
  TemporaryFolder folder;
  for (const char* name : {"config.json", "tokenizer.json"}) {
    fs::copy_file(fixtures_dir() / "qwen3-gqa" / name, folder.path() / name);
  }
  std::string bytes = *read_file(fixtures_dir() / "qwen3-gqa/model.safetensors", 64 << 20);
  std::set<Digest> digests;
  for (int i = 0; i < 3; ++i) {
    folder.write("model.safetensors", bytes);
    const auto model = load_model(folder.path(), {}, one_thread());
    ASSERT_TRUE(model.ok()) << model.error().to_string();
    digests.insert((*model)->weights.digest);
    if (i > 0) bytes[bytes.size() - 2] ^= 1;  // the first two loads read the same file
  }
  EXPECT_EQ(digests.size(), 2u);
}

TEST(LoadModel, refuses_a_model_that_is_larger_than_the_memory) {
  ModelOptions options = {WeightType::kInt8, KvType::kInt8, Isa::kScalar};
  options.memory = MemoryLimit{int64_t{1} << 20, "/sys/fs/cgroup/memory.max"};
  const auto model = load_model(demo_model_dir(), options, two_threads());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(model.error().field, "model");
  for (const char* part :
       {"demo needs ", " as int8), but /sys/fs/cgroup/memory.max allows 1 MiB", "--weights q4k"}) {
    EXPECT_NE(model.error().message.find(part), std::string::npos) << model.error().to_string();
  }
  options.memory = MemoryLimit{int64_t{1} << 40, ""};
  EXPECT_TRUE(load_model(demo_model_dir(), options, two_threads()).ok());
  // Other errors come first.
  options.memory = MemoryLimit{1, ""};
  EXPECT_EQ(load_model("/nowhere", options, two_threads()).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace cascade::testing
