// Shared by the tests of config.json: a small accepted file, and checks of how others are parsed.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "model/config.h"

namespace cascade::testing {

using Windows = std::vector<int>;

inline Json read_config(const std::filesystem::path& path) {
  const auto text = read_file(path, size_t{1} << 20);
  EXPECT_TRUE(text.ok()) << path;
  return parse_json(text.ok() ? *text : "null", path.string()).value();
}

// The smallest config.json of a family that is accepted.
inline Json minimal_config(const char* model_type = "llama", int layers = 3) {
  return {{"model_type", model_type},    {"hidden_act", "silu"},
          {"num_hidden_layers", layers}, {"hidden_size", 64},
          {"intermediate_size", 160},    {"num_attention_heads", 4},
          {"vocab_size", 2048},          {"max_position_embeddings", 4096},
          {"rms_norm_eps", 1e-6},        {"rope_theta", 10000.0}};
}

inline Json with(Json config, const char* key, Json value) {
  config[key] = std::move(value);
  return config;
}

inline Json without(Json config, const char* key) {
  config.erase(key);
  return config;
}

// Adds what all families of mixtures of experts need.
inline void add_experts(Json& config) {
  config["num_local_experts"] = 8;
  config["num_experts_per_tok"] = 2;
  config["moe_intermediate_size"] = 24;
  config["shared_expert_intermediate_size"] = 40;
}

inline ModelConfig parsed_config(const Json& config) {
  const auto result = parse_model_config(config);
  EXPECT_TRUE(result.ok()) << config.dump() << result.error().to_string();
  return result.ok() ? *result : ModelConfig();
}

inline void expect_config_error(const Json& config, ErrorCode code, std::string_view field,
                                std::string_view message = "") {
  const auto result = parse_model_config(config);
  ASSERT_FALSE(result.ok()) << config.dump();
  EXPECT_EQ(result.error().code, code) << result.error().to_string();
  EXPECT_EQ(result.error().field, field) << result.error().to_string();
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().to_string();
  EXPECT_NE(result.error().to_string().find("config.json"), std::string::npos)
      << result.error().to_string();
}

inline void expect_invalid_config(const Json& config, std::string_view field,
                                  std::string_view message = "") {
  expect_config_error(config, ErrorCode::kInvalidArgument, field, message);
}

}  // namespace cascade::testing
