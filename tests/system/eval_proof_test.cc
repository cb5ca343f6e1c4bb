// The proofs of cascade-eval as a process: what quality and identity print and refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

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
}

}  // namespace
}  // namespace cascade
