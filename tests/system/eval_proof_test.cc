// The proofs of cascade-eval as a process: what quality and identity print and refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "tests/shared_dir.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;

ProgramResult proof(const char* command, const std::vector<std::string>& options) {
  std::vector<std::string> arguments = {command, "--model", testing::demo_model_dir().string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_program("cascade-eval", arguments);
}

// A text of some 600 tokens.
class QualitySystem : public ::testing::Test {
 protected:
  QualitySystem() : path_((dir_.path() / "text.txt").string()) {
    std::ofstream file(path_);
    for (int i = 0; i < 60; ++i) file << "What is the capital of France? It is Paris.\n";
  }
  ProgramResult quality(std::vector<std::string> options) const {
    options.insert(options.end(), {"--text", path_});
    return proof("quality", options);
  }

  testing::ScratchDir dir_;
  std::string path_;
};

TEST_F(QualitySystem, f32_against_itself_is_no_distance) {
  const ProgramResult result = quality({"--weights", "f32", "--kv", "f32", "--positions", "200",
                                        "--window", "90", "--threads", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json line = Json::parse(result.out);
  for (const char* key : {"mean_kl", "p99_kl", "max_kl", "perplexity_change_percent"}) {
    EXPECT_EQ(line[key], 0) << key;
  }
  EXPECT_EQ(line["top1_agreement"], 1);
  EXPECT_EQ(line["perplexity"], line["perplexity_reference"]);
  EXPECT_EQ(line["positions"], 200);
  EXPECT_EQ(line["weights"], "f32");
}

TEST_F(QualitySystem, fewer_bits_are_a_distance_that_threads_do_not_change) {
  Json lines[2];
  for (const int threads : {1, 2}) {
    const ProgramResult result = quality({"--weights", "int8", "--kv", "fp8", "--positions", "150",
                                          "--window", "64", "--threads", std::to_string(threads)});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    lines[threads - 1] = Json::parse(result.out);
    EXPECT_EQ(lines[threads - 1]["threads"], threads);
    lines[threads - 1].erase("threads");
  }
  EXPECT_GT(lines[0]["mean_kl"], 0);
  EXPECT_GE(lines[0]["max_kl"], lines[0]["p99_kl"]);
  EXPECT_EQ(lines[0], lines[1]);
}

TEST_F(QualitySystem, the_same_values_leave_what_the_arithmetic_costs) {
  const auto distance = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--weights", "int4", "--kv", "f32", "--positions", "100", "--window",
                             "100", "--threads", "1"});
    const ProgramResult result = quality(more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  };
  const Json both = distance({}), arithmetic = distance({"--same-values"});
  EXPECT_EQ(both["reference"], "the model");
  EXPECT_EQ(arithmetic["reference"], "the same values");
  EXPECT_GT(arithmetic["mean_kl"], 0);
  EXPECT_LT(arithmetic["mean_kl"], both["mean_kl"].get<double>() / 5) << "int4 loses much more";
}

TEST_F(QualitySystem, what_cannot_be_measured_is_refused_with_the_limit) {
  const ProgramResult result = quality({"--positions", "8192"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--positions 8192 needs 8193: take a longer text"));
  const ProgramResult window = quality({"--positions", "10", "--window", "16385"});
  EXPECT_EQ(window.exit_code, 2);
  EXPECT_THAT(window.err, HasSubstr("--window: must be from 1 to 16384 (the model's context)"));
  const ProgramResult kv = quality({"--kv", "int4"});
  EXPECT_EQ(kv.exit_code, 2);
  EXPECT_THAT(kv.err, HasSubstr("--kv: must be f32, bf16, fp16, fp8 or int8"));
  EXPECT_EQ(quality({"--positions", "0"}).exit_code, 2);
  std::ofstream(path_, std::ios::app) << "caf\xe9";
  const ProgramResult text = quality({"--positions", "10"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.err, HasSubstr("text.txt: is not UTF-8: byte 2643 is malformed"));
}

TEST_F(QualitySystem, one_position_has_no_standard_error) {
  const ProgramResult result = quality({"--positions", "1", "--kv", "int8"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(Json::parse(result.out)["mean_kl_standard_error"].is_null());
}

TEST(IdentitySystem, counts_what_it_compared) {
  const ProgramResult result = proof("identity", {"--cases", "5", "--seed", "3", "--weights",
                                                  "int8", "--kv", "int8", "--tokens-max", "200"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const Json line = Json::parse(result.out);
  EXPECT_EQ(line["cases"], 5);
  EXPECT_EQ(line["seed"], 3);
  EXPECT_EQ(line["differences"], 0);
  EXPECT_EQ(line["tokens_max"], 200);
  EXPECT_EQ(line["kv"], "int8");
  EXPECT_GE(line["tokens_compared"], 5);
  EXPECT_GE(line["pages_compared"], 5);
  EXPECT_GE(line["logits_compared"], 5 * 8192);
  EXPECT_EQ(proof("identity", {"--cases", "5", "--seed", "3", "--weights", "int8", "--kv", "int8",
                               "--tokens-max", "200"})
                .out,
            result.out);
}

TEST(IdentitySystem, traces_one_case_layer_by_layer) {
  const ProgramResult result =
      proof("identity", {"--case-seed", "12", "--trace", "--tokens-max", "70"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  std::string line;
  Json last;
  size_t traced = 0;
  while (std::getline(lines, line)) {
    last = Json::parse(line);
    if (!last.contains("run")) continue;
    ++traced;
    for (const char* key : {"layer", "tensor", "min", "max", "mean", "rms", "hash"}) {
      EXPECT_TRUE(last.contains(key)) << key;
    }
  }
  EXPECT_EQ(traced, 2u * 8 * 3);
  EXPECT_EQ(last["case_seed"], 12);
}

TEST(IdentitySystem, options_outside_their_limits_are_usage_errors) {
  struct Case {
    std::vector<std::string> options;
    const char* error;
  };
  const char* const seeds = "must be a whole number from 0 to 18446744073709551615, got ";
  for (const auto& [options, error] : std::vector<Case>{
           {{"--weights", "f16"},
            "--weights: must be auto, f32, bf16, int8, int4, q4k, q5k, q6k or mxfp4"},
           {{"--kv", "int4"}, "--kv: must be f32, bf16, fp16, fp8 or int8"},
           {{"--isa", "sse"}, "--isa: must be scalar, avx2, avx512, avx512vnni, neon or openblas"},
           {{"--cases", "0"}, "--cases: Value 0 not in range 1 to 1000000"},
           {{"--cases", "1000001"}, "--cases: Value 1000001 not in range 1 to 1000000"},
           {{"--threads-max", "257"}, "--threads-max: Value 257 not in range 1 to 256"},
           {{"--tokens-max", "16385"},
            "--tokens-max: must be from 1 to 16384 (the model's context), got 16385"},
           {{"--tokens-max", "0"}, "--tokens-max: Value 0 not in range"},
           {{"--seed", "-1"}, seeds},
           {{"--seed", "x"}, seeds},
           {{"--case-seed", "18446744073709551616"}, seeds},
           {{"--case-seed", "1", "--cases", "2"}, "--case-seed"}}) {
    const ProgramResult result = proof("identity", options);
    EXPECT_EQ(result.exit_code, 2) << options[0] << " " << options[1];
    EXPECT_THAT(result.err, HasSubstr(error));
    EXPECT_EQ(result.out, "");
  }
}

}  // namespace
}  // namespace cascade
