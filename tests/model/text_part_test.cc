// The text parts of multimodal checkpoints.
#include "model/text_part.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/safetensors.h"
#include "tests/model/recurrent_config_testing.h"
#include "tests/model/safetensors_file.h"
#include "tests/model/stepping.h"
#include "tests/model/weights_testing.h"
#include "tests/temporary_folder.h"

namespace cascade::testing {
namespace {

Json multimodal(const char* type, const Json& text) {
  return {{"model_type", type}, {"text_config", text}, {"vision_config", Json::object()}};
}

TEST(TextPart, is_that_of_some_multimodal_models_with_a_text_config) {
  EXPECT_TRUE(has_text_part(multimodal("gemma3", Json::object())));
  EXPECT_TRUE(has_text_part(multimodal("gemma4", Json::object())));
  EXPECT_TRUE(has_text_part(multimodal("mistral3", Json::object())));
  EXPECT_TRUE(has_text_part(multimodal("qwen3_5", Json::object())));
  EXPECT_TRUE(has_text_part(multimodal("qwen3_5_moe", Json::object())));
  EXPECT_FALSE(has_text_part(multimodal("qwen3_5_text", Json::object())));
  EXPECT_FALSE(has_text_part(multimodal("qwen2_vl", Json::object())));
  EXPECT_FALSE(has_text_part(multimodal("gemma3", "text")));
  EXPECT_FALSE(has_text_part({{"model_type", "gemma3"}}));
  EXPECT_FALSE(has_text_part({{"model_type", 3}, {"text_config", Json::object()}}));
  EXPECT_FALSE(has_text_part(Json::array()));
  EXPECT_FALSE(has_text_part(nullptr));
}

TEST(TextPart, has_the_configuration_of_a_text_model) {
  const Json text = minimal_config("mistral");
  const ModelConfig part = parsed_config(multimodal("mistral3", text));
  EXPECT_TRUE(part.is_text_part);
  ModelConfig alone = parsed_config(text);
  EXPECT_FALSE(alone.is_text_part);
  alone.is_text_part = true;
  EXPECT_EQ(part, alone);
  expect_config_error(multimodal("mistral3", with(text, "hidden_size", 0)),
                      ErrorCode::kInvalidArgument, "hidden_size");
  expect_config_error(multimodal("mistral3", minimal_config("pixtral")), ErrorCode::kUnsupported,
                      "model_type", "a multimodal model");
}

// As in google/gemma-3-4b-it: what is missing has the values of the published model.
TEST(TextPart, of_gemma3_may_leave_out_most_of_its_configuration) {
  const Json text = {{"hidden_size", 2560},
                     {"intermediate_size", 10240},
                     {"model_type", "gemma3_text"},
                     {"num_hidden_layers", 34},
                     {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                     {"sliding_window", 1024}};
  const ModelConfig config = parsed_config(multimodal("gemma3", text));
  EXPECT_EQ(config.vocab_size, 262'208);
  EXPECT_EQ(config.query_heads, 8);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.rope.theta, 1e6);
  EXPECT_EQ(config.rope.factor, 8);
  EXPECT_EQ(config.local_rope.theta, 1e4);
  EXPECT_EQ(config.window[0], 1024);
  EXPECT_EQ(config.window[5], 0);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_EQ(parsed_config(multimodal("gemma3", with(text, "head_dim", 128))).head_dim, 128);
}

TEST(TextPart, of_gemma4_has_the_defaults_of_transformers) {
  const ModelConfig config = parsed_config(multimodal("gemma4", Json::object()));
  EXPECT_EQ(config.model_type, "gemma4_text");
  EXPECT_EQ(config.layers, 30);
  EXPECT_EQ(config.hidden_size, 2304);
  EXPECT_EQ(config.attention_shape(5), (AttentionShape{4, 512, 5}));
  EXPECT_EQ(config.layer_input_size, 256);
  const ModelConfig unified =
      parsed_config(multimodal("gemma4_unified", {{"model_type", "gemma4_unified_text"}}));
  EXPECT_EQ(unified.model_type, "gemma4_text");
  EXPECT_EQ(unified.layer_input_size, 0);
  EXPECT_EQ(unified.window.front(), 1024);
  EXPECT_EQ(unified.context_tokens_max, 262'144);
}

TEST(TextPart, of_qwen3_5_is_a_text_model_with_recurrent_layers) {
  for (const char* type : {"qwen3_5", "qwen3_5_moe"}) {
    SCOPED_TRACE(type);
    const Json text = hybrid_config(type + std::string("_text"));
    ModelConfig alone = parsed_config(text);
    EXPECT_FALSE(alone.recurrent.layers.empty());
    alone.is_text_part = true;
    Json whole = multimodal(type, text);
    EXPECT_EQ(parsed_config(whole), alone);
    whole["tie_word_embeddings"] = true;
    EXPECT_TRUE(parsed_config(whole).tied_embeddings) << "only the whole model says it";
    // Published files describe positions so.
    Json rotated = without(text, "rope_theta");
    rotated["rope_parameters"] = {{"mrope_interleaved", true},
                                  {"mrope_section", {11, 11, 10}},
                                  {"rope_type", "default"},
                                  {"rope_theta", 1e7},
                                  {"partial_rotary_factor", 0.25}};
    const ModelConfig config = parsed_config(multimodal(type, rotated));
    EXPECT_EQ(config.rope.theta, 1e7);
    EXPECT_EQ(config.rope.rotary_share, 0.25);
    EXPECT_EQ(config.rope.scaling, RopeScaling::kNone);
  }
}

TEST(TextPart, of_qwen3_5_that_lacks_a_key_is_an_error_that_names_it) {
  for (const char* type : {"qwen3_5", "qwen3_5_moe"}) {
    const Json text = hybrid_config(type + std::string("_text"));
    // As in transformers, the text model follows from the whole one.
    EXPECT_EQ(parsed_config(multimodal(type, without(text, "model_type"))).model_type,
              type + std::string("_text"));
    for (const char* key : {"num_hidden_layers", "hidden_size", "vocab_size", "rms_norm_eps",
                            "num_attention_heads", "hidden_act"}) {
      expect_config_error(multimodal(type, without(text, key)), ErrorCode::kInvalidArgument, key,
                          "is missing");
    }
    expect_config_error(multimodal(type, Json::object()), ErrorCode::kInvalidArgument,
                        "num_hidden_layers", "is missing");
    expect_config_error(multimodal(type, with(text, "linear_key_head_dim", 4)),
                        ErrorCode::kInvalidArgument, "linear_key_head_dim", "multiple of 8");
    // Without a text part there is no model that could be run.
    expect_config_error(without(multimodal(type, text), "text_config"), ErrorCode::kUnsupported,
                        "model_type", "a multimodal model");
  }
  const Json dense = hybrid_config("qwen3_5_text");
  expect_config_error(multimodal("qwen3_5", without(dense, "intermediate_size")),
                      ErrorCode::kInvalidArgument, "intermediate_size", "is missing");
}

TEST(TextPart, takes_over_what_only_the_whole_model_says) {
  Json whole = multimodal("mistral3", {{"eos_token_id", 7}});
  whole["eos_token_id"] = 2;
  whole["bos_token_id"] = 1;
  whole["tie_word_embeddings"] = true;
  const Json text = text_part_config(whole);
  EXPECT_EQ(text["eos_token_id"], 7) << "what the text part itself says counts";
  EXPECT_EQ(text["bos_token_id"], 1);
  EXPECT_EQ(text["tie_word_embeddings"], true);
}

TEST(TextPart, has_the_names_of_a_text_model) {
  const auto name = [](const char* whole) { return text_part_tensor(whole).value_or("none"); };
  EXPECT_EQ(name("language_model.model.layers.0.mlp.up_proj.weight"),
            "model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(name("model.language_model.embed_tokens.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(name("language_model.lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(name("lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(name("model.layers.0.mlp.up_proj.weight"), "model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(name("model.language_model.layers.0.linear_attn.A_log"),
            "model.layers.0.linear_attn.A_log");
  EXPECT_EQ(name("mtp.layers.0.mlp.up_proj.weight"), "mtp.layers.0.mlp.up_proj.weight")
      << "no name of a layer";
  for (const char* other : {"vision_tower.patch_conv.weight", "model.vision_tower.x",
                            "multi_modal_projector.norm.weight", "model.multi_modal_projector.x",
                            "model.embed_vision.x", "model.audio_tower.x", "model.embed_audio.x",
                            "model.visual.blocks.0.attn.qkv.weight"}) {
    EXPECT_EQ(text_part_tensor(other), std::nullopt) << other;
  }
}

TEST(TextPart, with_two_tensors_of_one_name_is_refused) {
  TemporaryFolder folder;
  Json header = Json::object();
  header["model.norm.weight"] = tensor_json("F32", {1}, 0, 4);
  header["language_model.model.norm.weight"] = tensor_json("F32", {1}, 4, 8);
  std::ofstream(folder.path() / "model.safetensors", std::ios::binary)
      << safetensors(header.dump(), std::string(8, '\0'));
  const auto files = TensorFiles::open(folder.path(), true);
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().code, ErrorCode::kDataCorrupt);
  EXPECT_NE(files.error().message.find("model.norm.weight"), std::string::npos);
  EXPECT_TRUE(TensorFiles::open(folder.path()).ok());
}

TEST(TextPart, is_all_that_counts_of_a_checkpoint) {
  for (const char* name : {"gemma3-vision", "gemma4-unified", "gemma4-vision", "ministral3-vision",
                           "qwen3-5-vision"}) {
    const auto whole = TensorFiles::open(model_dir(name));
    const auto text = TensorFiles::open(model_dir(name), true);
    ASSERT_TRUE(whole.ok() && text.ok());
    EXPECT_LT(text->bytes_total(), whole->bytes_total());
    EXPECT_TRUE(text->names("vision_tower").empty());
    EXPECT_TRUE(text->names("model.visual").empty());
    EXPECT_TRUE(text->contains("model.norm.weight"));
  }
}

// Qwen's checkpoints have layers that only predict further tokens. They are not computed.
TEST(TextPart, of_qwen3_5_ignores_layers_that_predict_further_tokens) {
  const auto source = model_dir("qwen3-5-vision");
  PlainTensors tensors = read_tensors(source);
  tensors["mtp.fc.weight"] = small_numbers({32, 64});
  tensors["mtp.layers.0.self_attn.q_proj.weight"] = small_numbers({128, 32});
  TemporaryFolder folder;
  write_folder(source, tensors, folder.path());
  const auto more = load_weights_in(WeightType::kF32, folder.path());
  const auto plain = load_weights_in(WeightType::kF32, source);
  ASSERT_TRUE(more.ok() && plain.ok()) << more.error().to_string();
  EXPECT_TRUE((*more)->config.is_text_part);
  EXPECT_EQ(testing::last_logits(**more), testing::last_logits(**plain));
  // Another tensor of a layer changes what it computes.
  tensors["model.language_model.layers.0.linear_attn.D"] = small_numbers({4});
  write_folder(source, tensors, folder.path());
  expect_refusal(folder.path(), ErrorCode::kUnsupported, "model.layers.0.linear_attn.D",
                 "does not use it");
}

}  // namespace
}  // namespace cascade::testing
