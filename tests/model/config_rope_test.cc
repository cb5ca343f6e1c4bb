// Tests of the rotary embedding part of config.json.
#include "model/config_rope.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cascade {
namespace {

constexpr int kContext = 32768;

Json v4(Json scaling, Json theta = 10000.0) {
  return {{"rope_theta", std::move(theta)}, {"rope_scaling", std::move(scaling)}};
}

// The same parameters in the other dialect.
Json v5(Json parameters, Json theta = 10000.0) {
  if (!theta.is_null()) parameters["rope_theta"] = std::move(theta);
  return {{"rope_parameters", std::move(parameters)}};
}

RopeConfig parsed_rope(const Json& config) {
  const auto result = parse_rope_config(config, kContext);
  EXPECT_TRUE(result.ok()) << config.dump() << result.error().to_string();
  return result.ok() ? *result : RopeConfig();
}

void expect_rope_error(const Json& config, ErrorCode code, std::string_view field,
                       std::string_view message = "") {
  const auto result = parse_rope_config(config, kContext);
  ASSERT_FALSE(result.ok()) << config.dump();
  EXPECT_EQ(result.error().code, code) << result.error().to_string();
  EXPECT_EQ(result.error().field, field) << result.error().to_string();
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().to_string();
}

void expect_invalid_rope(const Json& config, std::string_view field,
                         std::string_view message = "") {
  expect_rope_error(config, ErrorCode::kInvalidArgument, field, message);
}

void expect_unsupported_rope(const Json& config, std::string_view field,
                             std::string_view message = "") {
  expect_rope_error(config, ErrorCode::kUnsupported, field, message);
}

// Both dialects must refuse `scaling`.
void expect_both_invalid(const Json& scaling, std::string_view field,
                         std::string_view message = "") {
  expect_invalid_rope(v4(scaling), field, message);
  expect_invalid_rope(v5(scaling), field, message);
}

Json merged(Json object, const Json& more) {
  object.update(more);
  return object;
}

const Json kLlama3 = {{"rope_type", "llama3"},
                      {"factor", 32.0},
                      {"low_freq_factor", 1.0},
                      {"high_freq_factor", 4.0},
                      {"original_max_position_embeddings", 8192}};
const Json kYarn = {
    {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 8192}};
const Json kLinear = {{"rope_type", "linear"}, {"factor", 2.5}};

TEST(RopeConfig, plain_rope_has_only_a_theta) {
  RopeConfig expected;
  expected.theta = 500000;
  EXPECT_EQ(parsed_rope({{"rope_theta", 500000}}), expected);
  EXPECT_EQ(parsed_rope(v4(nullptr, 500000.0)), expected);
  EXPECT_EQ(parsed_rope(v4({{"rope_type", "default"}}, 500000.0)), expected);
  EXPECT_EQ(parsed_rope(v4({{"type", "default"}}, 500000.0)), expected);
  EXPECT_EQ(parsed_rope(v5({{"rope_type", "default"}}, 500000)), expected);
  EXPECT_EQ(parsed_rope(v5(Json::object(), 500000.0)), expected);
  EXPECT_EQ(parsed_rope({{"rope_theta", 500000}, {"rope_parameters", {{"rope_type", "default"}}}}),
            expected);
}

TEST(RopeConfig, no_theta_anywhere_is_an_error) {
  for (const Json& config :
       {Json::object(), v4(nullptr, nullptr), v4(kLinear, nullptr), v5(kLinear, nullptr),
        Json{{"rope_parameters", nullptr}}, Json{{"rope_theta", nullptr}}}) {
    expect_invalid_rope(config, "rope_theta", "is missing");
  }
}

TEST(RopeConfig, holds_theta_to_its_limits) {
  EXPECT_EQ(parsed_rope(v4(nullptr, 1e12)).theta, 1e12);
  EXPECT_EQ(parsed_rope(v4(nullptr, 1.5)).theta, 1.5);
  for (const Json& bad :
       {Json(1), Json(1.0), Json(0), Json(-1e4), Json(1.1e12), Json("10000"), Json(true)}) {
    expect_invalid_rope(v4(nullptr, bad), "rope_theta");
    expect_invalid_rope(v5(Json::object(), bad), "rope_theta");
  }
}

TEST(RopeConfig, two_thetas_must_agree) {
  const Json config = v5({{"rope_type", "default"}}, 1e6);
  EXPECT_EQ(parsed_rope(merged(config, {{"rope_theta", 1000000}})).theta, 1e6);
  expect_invalid_rope(merged(config, {{"rope_theta", 10000.0}}), "rope_theta", "differs");
}

TEST(RopeConfig, both_dialects_in_one_file_must_agree) {
  const Json both = merged(v5(kYarn, 1e6), v4(kYarn, 1e6));
  EXPECT_EQ(parsed_rope(both), parsed_rope(v5(kYarn, 1e6)));
  EXPECT_EQ(parsed_rope(merged(v5(kYarn, 1e6), {{"rope_scaling", kYarn}})), parsed_rope(both));
  EXPECT_EQ(parsed_rope(merged(v5(kYarn, 1e6), {{"rope_scaling", nullptr}})), parsed_rope(both));
  expect_invalid_rope(merged(v5(kYarn), v4(kLinear)), "rope_scaling", "contradicts");
  expect_invalid_rope(merged(v5({{"rope_type", "default"}}), v4(kYarn)), "rope_scaling",
                      "contradicts");
  expect_invalid_rope(merged(v5(kYarn), {{"rope_scaling", "yarn"}}), "rope_scaling");
}

TEST(RopeConfig, linear) {
  RopeConfig expected;
  expected.theta = 10000;
  expected.scaling = RopeScaling::kLinear;
  expected.factor = 2.5;
  EXPECT_EQ(parsed_rope(v4(kLinear)), expected);
  EXPECT_EQ(parsed_rope(v5(kLinear)), expected);
  EXPECT_EQ(parsed_rope(v4({{"type", "linear"}, {"factor", 2.5}})), expected);
  EXPECT_EQ(parsed_rope(v4({{"type", "linear"}, {"rope_type", "linear"}, {"factor", 2.5}})),
            expected);
}

TEST(RopeConfig, llama3) {
  RopeConfig expected;
  expected.theta = 500000;
  expected.scaling = RopeScaling::kLlama3;
  expected.factor = 32;
  expected.low_freq_factor = 1;
  expected.high_freq_factor = 4;
  expected.original_context = 8192;
  EXPECT_EQ(parsed_rope(v4(kLlama3, 500000.0)), expected);
  EXPECT_EQ(parsed_rope(v5(kLlama3, 500000.0)), expected);
  for (const char* key :
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    expect_both_invalid(merged(kLlama3, {{key, nullptr}}), key, "is missing");
    expect_both_invalid(merged(kLlama3, {{key, "1"}}), key);
    expect_both_invalid(merged(kLlama3, {{key, 0}}), key);
    expect_both_invalid(merged(kLlama3, {{key, -1.0}}), key);
    expect_both_invalid(merged(kLlama3, {{key, 1e9}}), key);
  }
  expect_both_invalid(merged(kLlama3, {{"high_freq_factor", 1.0}}), "high_freq_factor",
                      "greater than low_freq_factor");
}

TEST(RopeConfig, yarn_with_its_defaults) {
  RopeConfig expected;
  expected.theta = 1e6;
  expected.scaling = RopeScaling::kYarn;
  expected.factor = 4;
  expected.original_context = 8192;
  expected.beta_fast = 32;
  expected.beta_slow = 1;
  expected.truncate = true;
  expected.attention_factor = 0.1 * std::log(4.0) + 1;
  EXPECT_EQ(parsed_rope(v4(kYarn, 1e6)), expected);
  EXPECT_EQ(parsed_rope(v5(kYarn, 1e6)), expected);
  EXPECT_EQ(parsed_rope(v4(merged(kYarn, {{"beta_fast", 0}, {"beta_slow", nullptr}}), 1e6)),
            expected);
}

TEST(RopeConfig, yarn_takes_the_original_context_from_where_it_is) {
  const Json unsaid = merged(kYarn, {{"original_max_position_embeddings", nullptr}});
  EXPECT_EQ(parsed_rope(v4(unsaid)).original_context, kContext);
  EXPECT_EQ(parsed_rope(merged(v4(unsaid), {{"original_max_position_embeddings", 4096}}))
                .original_context,
            4096);
  expect_invalid_rope(merged(v4(kYarn), {{"original_max_position_embeddings", 4096}}),
                      "original_max_position_embeddings", "differs");
}

TEST(RopeConfig, yarn_with_all_keys_given) {
  const RopeConfig rope = parsed_rope(v5(merged(kYarn, {{"beta_fast", 16.5},
                                                        {"beta_slow", 2},
                                                        {"truncate", false},
                                                        {"attention_factor", 0.75},
                                                        {"mscale", 1.0},
                                                        {"mscale_all_dim", 0.5}})));
  EXPECT_EQ(rope.beta_fast, 16.5);
  EXPECT_EQ(rope.beta_slow, 2);
  EXPECT_FALSE(rope.truncate);
  EXPECT_EQ(rope.attention_factor, 0.75);
}

TEST(RopeConfig, yarn_derives_the_attention_factor_as_transformers_does) {
  const auto attention = [](const Json& more) {
    return parsed_rope(v4(merged(kYarn, more))).attention_factor;
  };
  const double log_factor = std::log(4.0);
  EXPECT_EQ(attention({{"factor", 1}}), 1);
  EXPECT_EQ(attention({{"mscale", 0.707}, {"mscale_all_dim", 0.707}}), 1);
  EXPECT_DOUBLE_EQ(attention({{"mscale", 1.5}, {"mscale_all_dim", 0.5}}),
                   (0.15 * log_factor + 1) / (0.05 * log_factor + 1));
  EXPECT_DOUBLE_EQ(attention({{"mscale", 1.5}}), 0.1 * log_factor + 1) << "both or none";
  EXPECT_DOUBLE_EQ(attention({{"mscale", 1.5}, {"mscale_all_dim", 0}}), 0.1 * log_factor + 1);
}

TEST(RopeConfig, yarn_refuses_values_outside_their_limits) {
  for (const Json& bad : {Json(0.5), Json(0), Json(-4), Json(1e7), Json("4"), Json(nullptr)}) {
    expect_both_invalid(merged(kYarn, {{"factor", bad}}), "factor");
  }
  for (const char* key : {"beta_fast", "beta_slow", "mscale", "mscale_all_dim"}) {
    expect_both_invalid(merged(kYarn, {{key, -1}}), key);
    expect_both_invalid(merged(kYarn, {{key, 1e5}}), key);
    expect_both_invalid(merged(kYarn, {{key, "1"}}), key);
  }
  expect_both_invalid(merged(kYarn, {{"attention_factor", 0}}), "attention_factor");
  expect_both_invalid(merged(kYarn, {{"truncate", 1}}), "truncate");
  expect_both_invalid(merged(kYarn, {{"beta_fast", 1}, {"beta_slow", 2}}), "beta_fast");
  EXPECT_EQ(parsed_rope(v4(merged(kYarn, {{"beta_fast", 2}, {"beta_slow", 2}}))).beta_fast, 2);
}

TEST(RopeConfig, proportional_rope_moves_a_share_of_the_pairs_of_the_whole_head) {
  const Json scaling = {{"rope_type", "proportional"}, {"partial_rotary_factor", 0.25}};
  RopeConfig rope = parsed_rope(v5(merged(scaling, {{"rope_theta", 1e6}})));
  EXPECT_EQ(rope.scaling, RopeScaling::kProportional);
  EXPECT_EQ(rope.moving_share, 0.25);
  EXPECT_EQ(rope.rotary_dim(64), 64) << "all of a head is rotated, in part by nothing";
  EXPECT_EQ(rope.factor, 1);
  rope = parsed_rope(v5({{"rope_type", "proportional"}, {"rope_theta", 1e6}, {"factor", 8.0}}));
  EXPECT_EQ(rope.moving_share, 1);
  EXPECT_EQ(rope.factor, 8);
  expect_invalid_rope(v5(merged(scaling, {{"rope_theta", 1e6}, {"factor", 0.0}})), "factor");
}

TEST(RopeConfig, refuses_types_that_are_not_built) {
  for (const char* type : {"dynamic", "mrope", "YARN"}) {
    expect_unsupported_rope(v4({{"rope_type", type}, {"factor", 2.0}}), "rope_type", type);
    expect_unsupported_rope(v4({{"type", type}, {"factor", 2.0}}), "rope_type", type);
    expect_unsupported_rope(v5({{"rope_type", type}, {"factor", 2.0}}), "rope_type", type);
  }
}

TEST(RopeConfig, refuses_a_type_that_is_unclear) {
  expect_both_invalid({{"factor", 2.0}}, "rope_type", "missing beside factor");
  expect_both_invalid({{"type", "linear"}, {"rope_type", "yarn"}, {"factor", 2.0}}, "rope_type");
  expect_both_invalid({{"rope_type", 3}}, "rope_type");
  expect_both_invalid({{"type", {"yarn"}}}, "type");
}

TEST(RopeConfig, refuses_parameters_per_layer_type_by_name) {
  const Json nested = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 1e6}}},
                       {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}};
  expect_unsupported_rope({{"rope_parameters", nested}}, "rope_parameters", "full_attention");
  expect_unsupported_rope({{"rope_parameters", nested}, {"rope_theta", 1e4}}, "rope_parameters");
  expect_unsupported_rope({{"rope_scaling", nested}, {"rope_theta", 1e4}}, "rope_scaling");
}

TEST(RopeConfig, reads_the_share_of_a_head_that_is_rotated) {
  EXPECT_EQ(parsed_rope(v4(nullptr)).rotary_share, 1);
  EXPECT_EQ(parsed_rope(merged(v4(nullptr), {{"partial_rotary_factor", 1.0}})).rotary_share, 1);
  EXPECT_EQ(parsed_rope(v5({{"partial_rotary_factor", 0.25}})).rotary_share, 0.25);
  EXPECT_EQ(parsed_rope(merged(v4(nullptr), {{"partial_rotary_factor", 0.75}})).rotary_dim(128),
            96);
  // A share that is a quotient of whole numbers gives back the whole number of rotated channels.
  for (int rotated = 2; rotated <= 80; rotated += 2) {
    const Json config = merged(v4(nullptr), {{"partial_rotary_factor", rotated / 80.0}});
    EXPECT_EQ(parsed_rope(config).rotary_dim(80), rotated);
  }
  for (const Json& bad : {Json(0), Json(-0.5), Json(1.01), Json("1")}) {
    expect_invalid_rope(merged(v4(nullptr), {{"partial_rotary_factor", bad}}),
                        "partial_rotary_factor");
    expect_invalid_rope(v5({{"partial_rotary_factor", bad}}), "partial_rotary_factor");
  }
  expect_invalid_rope(
      merged(v5({{"partial_rotary_factor", 0.5}}), {{"partial_rotary_factor", 0.25}}),
      "partial_rotary_factor", "differs");
}

const Json kLongRope = {{"rope_type", "longrope"},
                        {"short_factor", {1.0, 1.25}},
                        {"long_factor", {2.0, 3.5}},
                        {"original_max_position_embeddings", 4096}};

TEST(RopeConfig, longrope_takes_the_list_of_the_models_context) {
  RopeConfig expected;
  expected.theta = 10000;
  expected.scaling = RopeScaling::kLongRope;
  expected.factor = 8;
  expected.original_context = 4096;
  expected.divisors = {2.0f, 3.5f};
  expected.attention_factor = static_cast<float>(std::sqrt(1 + std::log(8.0) / std::log(4096.0)));
  EXPECT_EQ(parsed_rope(v4(kLongRope)), expected);
  EXPECT_EQ(parsed_rope(v5(kLongRope)), expected);
  Json old = kLongRope;
  old.erase("rope_type");
  old.erase("original_max_position_embeddings");
  old["type"] = "su";
  EXPECT_EQ(parsed_rope(merged(v4(old), {{"original_max_position_embeddings", 4096}})), expected);

  for (const int original : {kContext, 2 * kContext}) {
    const RopeConfig shorter =
        parsed_rope(v4(merged(kLongRope, {{"original_max_position_embeddings", original}})));
    EXPECT_EQ(shorter.divisors, std::vector<float>({1.0f, 1.25f})) << original;
    EXPECT_EQ(shorter.attention_factor, 1);
  }
  EXPECT_EQ(parsed_rope(v4(merged(kLongRope, {{"attention_factor", 1.5}}))).attention_factor, 1.5);
  EXPECT_EQ(parsed_rope(v4(merged(kLongRope, {{"factor", 1}}))).attention_factor, 1);
}

TEST(RopeConfig, longrope_refuses_what_it_cannot_use) {
  for (const char* key : {"short_factor", "long_factor"}) {
    expect_both_invalid(merged(kLongRope, {{key, nullptr}}), key, "is missing");
    for (const Json& bad :
         {Json(2.0), Json::array(), Json({1.0, 0.0}), Json({1.0, -2.0}), Json({1.0, "2"}),
          Json({1.0, 1e7}), Json({1.0, nullptr}), Json(std::vector<double>(257, 1.0))}) {
      expect_both_invalid(merged(kLongRope, {{key, bad}}), key);
    }
  }
  expect_both_invalid(merged(kLongRope, {{"long_factor", {1.0}}}), "long_factor", "as many");
  const char* original = "original_max_position_embeddings";
  expect_both_invalid(merged(kLongRope, {{original, nullptr}}), original, "is missing");
  expect_both_invalid(merged(kLongRope, {{original, 1}}), original);
  expect_both_invalid(merged(kLongRope, {{"factor", 0}}), "factor");
  expect_both_invalid(merged(kLongRope, {{"attention_factor", 0}}), "attention_factor");
  expect_unsupported_rope(v4(merged(kLongRope, {{"short_mscale", 1.2}})), "short_mscale");
}

TEST(RopeConfig, refuses_parameters_that_are_no_object) {
  for (const Json& bad : {Json("yarn"), Json(2.0), Json::array({kYarn}), Json(true)}) {
    expect_invalid_rope(v4(bad), "rope_scaling");
    expect_invalid_rope({{"rope_theta", 1e4}, {"rope_parameters", bad}}, "rope_parameters");
  }
}

}  // namespace
}  // namespace cascade
