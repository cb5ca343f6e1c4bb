// Models in GGUF give the same results as the same models as Hugging Face folders.
#include <gtest/gtest.h>

#include <bit>
#include <fstream>

#include "model/gguf/model.h"
#include "tests/long_tests.h"
#include "tests/model/gguf/convert.h"
#include "tests/model/gguf/small_model.h"
#include "tests/model/stepping.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

ModelOptions exact(WeightType type = WeightType::kF32) {
  return {.weight_type = type, .kv_type = KvType::kF32};
}

// Logits of the last token of a fixed chain, as bits.
std::vector<uint32_t> logit_bits(const Model& m, int tokens = 40) {
  const std::vector<float> logits = last_logits(m, tokens);
  std::vector<uint32_t> bits(logits.size());
  std::memcpy(bits.data(), logits.data(), logits.size() * sizeof(float));
  return bits;
}

// The same for the model at `path`; empty, and a test failure, if it cannot be loaded.
std::vector<uint32_t> logit_bits(const fs::path& path, const ModelOptions& options,
                                 int tokens = 40) {
  const auto model = load_model(path, options, two_threads());
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  if (!model.ok()) return {};
  return logit_bits(**model, tokens);
}

// Uses the demo model in long tests, and by default a small one of the same family.
TEST(GgufModel, gives_the_bits_of_the_folder_in_every_type) {
  const fs::path source = long_tests() ? demo_model_dir() : model_dir("qwen3-gqa");
  const PlainTensors tensors = read_tensors(source);
  for (const GgmlType type : {kGgmlF32, kGgmlF16, kGgmlBf16, kGgmlQ8_0, kGgmlQ4_0}) {
    SCOPED_TRACE(type);
    TemporaryFolder folder;
    write_folder(source, rounded(tensors, type), folder.path());
    const fs::path file = folder.path() / "model.gguf";
    write_gguf(source, tensors, type, file);
    const auto expected = logit_bits(folder.path(), exact());
    EXPECT_EQ(logit_bits(file, exact()), expected);
    // With int8 weights, too, file and folder are packed from the same numbers, except where blocks
    // are taken over unchanged.
    if (type == kGgmlQ8_0 || type == kGgmlQ4_0) continue;
    EXPECT_EQ(logit_bits(file, exact(WeightType::kInt8)),
              logit_bits(folder.path(), exact(WeightType::kInt8)));
  }
}

// The files were written by tests/model/reference with the names and keys of llama.cpp.
TEST(GgufModel, every_family_gives_the_bits_of_its_folder) {
  constexpr int kTokens = 150;  // beyond the windows, and over two pages
  const std::vector<WeightType> types = {WeightType::kF32, WeightType::kBf16, WeightType::kInt4};
  size_t number = 0;
  for (const char* name : {"gemma3", "granite", "olmo2", "phi3", "phi3-longrope", "smollm3"}) {
    SCOPED_TRACE(name);
    ++number;
    const fs::path folder = model_dir(name);
    TemporaryFolder copy;
    write_folder(folder, read_tensors(folder), copy.path());
    for (size_t i = 0; i < types.size(); ++i) {
      if (!long_tests() && (i + number) % types.size() != 0) continue;  // each type by two families
      const WeightType type = types[i];
      const auto expected = logit_bits(folder, exact(type), kTokens);
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(logit_bits(folder / "model-bf16.gguf", exact(type), kTokens), expected);
      EXPECT_EQ(logit_bits(folder / "model-f32.gguf", exact(type), kTokens),
                logit_bits(copy.path(), exact(type), kTokens));
    }
    auto config = load_model_config(folder / "model-f32.gguf");
    ASSERT_TRUE(config.ok()) << config.error().to_string();
    config->norms_add_one = std::string_view(name) == "gemma3";  // the file holds 1 + weight
    EXPECT_EQ(*config, *load_model_config(folder));
  }
}

TEST(GgufModel, the_demo_model_in_bf16_is_the_demo_model) {
  TemporaryFolder folder;
  const fs::path file = folder.path() / "demo.gguf";
  write_gguf(demo_model_dir(), read_tensors(demo_model_dir()), kGgmlBf16, file);
  const auto gguf = load_model(file, exact(WeightType::kBf16), two_threads());
  const auto folder_model = load_model(demo_model_dir(), exact(WeightType::kBf16), two_threads());
  ASSERT_TRUE(gguf.ok() && folder_model.ok());
  EXPECT_EQ(logit_bits(**gguf), logit_bits(**folder_model));
  EXPECT_EQ((*gguf)->name, "demo");
  EXPECT_EQ((*gguf)->config, (*folder_model)->config);
  EXPECT_EQ((*gguf)->generation.end_tokens, (*folder_model)->generation.end_tokens);
  EXPECT_EQ((*gguf)->generation.begin_token, (*folder_model)->generation.begin_token);
  EXPECT_EQ(load_model_text(file)->template_tokens["eos_token"], "<|im_end|>");
  EXPECT_TRUE((*gguf)->templates.choose(/*tools=*/false).ok());
  EXPECT_TRUE((*gguf)->tokenizer.think_tokens().has_value());
}

// Files of the architecture llama order the rows of Q and K differently; Llama 3's frequencies are
// a tensor.
class GgufFixture : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufFixture, gives_the_bits_of_the_folder) {
  const fs::path source = model_dir(GetParam());
  const PlainTensors tensors = read_tensors(source);
  TemporaryFolder folder;
  const fs::path file = folder.path() / "model.gguf";
  const ModelConfig original = *load_model_config(source);
  const bool has_blocks = original.mixture.experts == 0 && original.intermediate_size % kBlock == 0;
  for (const GgmlType type : {kGgmlF32, kGgmlBf16, kGgmlQ8_0}) {
    SCOPED_TRACE(type);
    if (type == kGgmlQ8_0 && !has_blocks) continue;
    write_folder(source, rounded(tensors, type), folder.path());
    write_gguf(source, tensors, type, file);
    EXPECT_EQ(logit_bits(file, exact()), logit_bits(folder.path(), exact()));
  }
  ModelConfig config = *load_model_config(file);
  const ModelConfig expected = *load_model_config(source);
  // Heads of eight values have too few frequencies to infer the original context from them.
  if (config.rope.scaling == RopeScaling::kLlama3) {
    config.rope.original_context = expected.rope.original_context;
  }
  EXPECT_EQ(config, expected);
}
INSTANTIATE_TEST_SUITE_P(Models, GgufFixture,
                         ::testing::Values("llama-mha", "llama3-rope", "mistral-swa", "qwen2-bias",
                                           "qwen3-gqa", "glm4-moe", "glm4-moe-plain", "mixtral",
                                           "qwen3-moe", "olmo3", "ministral3", "gemma4-shared",
                                           "gemma4-alike", "gemma4-moe", "granite-moe",
                                           "granite-moe-shared", "olmoe", "qwen2-moe"),
                         [](const auto& model) {
                           std::string name = model.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Files of the reference tool, and the folder from which it made them.
TEST(GgufModel, files_of_another_tool_give_what_their_folder_gives) {
  const fs::path fixtures = fixtures_dir() / "gguf-types";
  const auto folder = load_model(fixtures / "hf", {}, two_threads());
  ASSERT_TRUE(folder.ok()) << folder.error().to_string();
  for (const char* name : {"tiny-BF16.gguf", "tiny-F16.gguf", "tiny-Q8_0.gguf", "tiny-Q4_0.gguf",
                           "tiny-Q5_0.gguf", "tiny-Q6_K.gguf", "tiny-Q4_K_M.gguf"}) {
    SCOPED_TRACE(name);
    const auto model = load_model(fixtures / name, {}, two_threads());
    ASSERT_TRUE(model.ok()) << model.error().to_string();
    EXPECT_EQ((*model)->config, (*folder)->config);
  }
  // The tool rounded the folder's numbers to f16 on the way.
  const auto logits = logit_bits(fixtures / "tiny-BF16.gguf", exact());
  const auto expected = logit_bits(fixtures / "hf", exact());
  ASSERT_EQ(logits.size(), expected.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(std::bit_cast<float>(logits[i]), std::bit_cast<float>(expected[i]), 1e-5);
  }
}

TEST(GgufModel, parts_are_one_model) {
  const PlainTensors tensors = read_tensors(demo_model_dir());
  TemporaryFolder folder;
  const auto write_part = [&](uint16_t index, size_t begin, size_t end, const std::string& name) {
    GgufWriter out;
    if (index == 0) write_metadata(demo_model_dir(), out);
    out.number<uint16_t>("split.no", GgufValueType::kU16, index);
    out.number<uint16_t>("split.count", GgufValueType::kU16, 3);
    out.number<int32_t>("split.tensors.count", GgufValueType::kI32,
                        static_cast<int32_t>(tensors.size()));
    write_tensors(demo_model_dir(), tensors, kGgmlBf16, out, begin, end);
    return folder.write(name, out.file());
  };
  const auto first = write_part(0, 0, 5, "demo-00001-of-00003.gguf");
  const auto second = write_part(1, 5, 40, "demo-00002-of-00003.gguf");
  const auto third = write_part(2, 40, SIZE_MAX, "demo-00003-of-00003.gguf");
  const ModelOptions bf16 = exact(WeightType::kBf16);
  const auto in_parts = load_model(first, bf16, two_threads());
  ASSERT_TRUE(in_parts.ok()) << in_parts.error().to_string();
  EXPECT_EQ(logit_bits(**in_parts), logit_bits(demo_model_dir(), bf16));
  EXPECT_EQ((*in_parts)->name, "demo");

  const auto error_of = [&](const fs::path& path) {
    const auto model = read_gguf_model(path);
    EXPECT_FALSE(model.ok());
    return model.ok() ? "" : model.error().to_string();
  };
  EXPECT_NE(error_of(second).find("give the first, demo-00001-of-00003.gguf"), std::string::npos);
  write_part(2, 39, SIZE_MAX, "demo-00003-of-00003.gguf");
  EXPECT_NE(error_of(first).find("is in an earlier part, too"), std::string::npos);
  write_part(2, 41, SIZE_MAX, "demo-00003-of-00003.gguf");
  EXPECT_NE(error_of(first).find("split.tensors.count"), std::string::npos);
  write_part(1, 40, SIZE_MAX, "demo-00003-of-00003.gguf");
  EXPECT_NE(error_of(first).find("says part 2 of 3"), std::string::npos);
  fs::remove(third);
  EXPECT_NE(error_of(first).find("demo-00003-of-00003.gguf"), std::string::npos);
}

TEST(GgufModel, packed_weights_are_found_again) {
  TemporaryFolder folder;
  TemporaryFolder state;
  const fs::path file = folder.write("small.gguf", SmallModel().file());
  ModelOptions options = exact();
  options.state_dir = state.path();
  const auto first = load_model(file, options, two_threads());
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  EXPECT_FALSE((*first)->load.from_cache);
  (*first)->weights.keeper->wait();
  const auto second = load_model(file, options, two_threads());
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE((*second)->load.from_cache);
  EXPECT_EQ((*second)->weights.digest, (*first)->weights.digest);
}

TEST(GgufModel, a_file_that_is_no_model_is_said_to_be_none) {
  TemporaryFolder folder;
  const auto text = load_model(folder.write("notes.txt", "hello"), {}, two_threads());
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::kNotFound);
  const auto named = load_model(folder.write("notes.gguf", "hello"), {}, two_threads());
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().code, ErrorCode::kDataCorrupt);
  // The magic letters are enough.
  EXPECT_TRUE(load_model(folder.write("blob", SmallModel().file()), exact(), two_threads()).ok());
}

TEST(GgufModel, further_templates_have_names) {
  TemporaryFolder folder;
  const std::string several = SmallModel{.without = {"template"}}.file([](GgufWriter& out) {
    out.texts("tokenizer.chat_templates", {"tool_use", "rag"});
    out.text("tokenizer.chat_template", "plain");
    out.text("tokenizer.chat_template.tool_use", "with tools");
  });
  const auto text = load_model_text(folder.write("m.gguf", several));
  ASSERT_TRUE(text.ok()) << text.error().to_string();
  const auto shown = [&](bool tools) {
    return plain_text(*(*text->templates.choose(tools))->source().render(OrderedJson::object(), 0));
  };
  EXPECT_EQ(shown(/*tools=*/false), "plain");
  EXPECT_EQ(shown(/*tools=*/true), "with tools");
}

TEST(GgufModel, missing_tensors_have_the_files_names) {
  TemporaryFolder folder;
  const auto error_of = [&](const std::string& file) {
    const auto model = load_model(folder.write("m.gguf", file), {}, two_threads());
    EXPECT_FALSE(model.ok());
    return model.ok() ? Error() : model.error();
  };
  for (const char* name : {"token_embd.weight", "output_norm.weight", "blk.0.attn_k.weight",
                           "blk.0.attn_q_norm.weight", "blk.0.ffn_down.weight"}) {
    const Error error = error_of(SmallModel{.without = {name}}.file());
    EXPECT_EQ(error.field, name) << error.to_string();
    EXPECT_EQ(error.code, ErrorCode::kNotFound);
  }
  const auto extra = [](const char* name) {
    return SmallModel().file(
        [&](GgufWriter& out) { out.tensor(name, {8}, kGgmlF32, std::string(32, '\0')); });
  };
  EXPECT_EQ(error_of(extra("blk.0.attn_sinks.weight")).code, ErrorCode::kUnsupported);
  EXPECT_EQ(error_of(extra("blk.0.attn_sinks.weight")).field, "blk.0.attn_sinks.weight");
  EXPECT_EQ(error_of(extra("blk.1.attn_norm.weight")).field, "blk.1.attn_norm.weight");
}

}  // namespace
}  // namespace cascade::testing
