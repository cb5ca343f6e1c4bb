// cascade-bench as a process: what it prints, what it refuses. No times are checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "tests/shared_dir.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;

ProgramResult bench(std::vector<std::string> arguments) {
  return run_program("cascade-bench", arguments);
}

// A command on the demo model.
ProgramResult model_bench(const char* command, std::vector<std::string> options) {
  std::vector<std::string> arguments = {
      command, "--model", testing::demo_model_dir().string(), "--repeats", "1", "--threads", "1"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return bench(arguments);
}

void expect_keys(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) EXPECT_TRUE(object.contains(key)) << key << " of " << object.dump();
}

TEST(BenchSystem, help_lists_the_commands) {
  const ProgramResult help = bench({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command : {"peak", "gemm", "attention", "prefill", "decode"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
  }
  EXPECT_THAT(help.out, HasSubstr("Exit codes: 0 done"));
  EXPECT_THAT(bench({"decode", "--help"}).out, HasSubstr("--shared-prefix"));
}

TEST(BenchSystem, prefill_prints_one_json_object) {
  const ProgramResult result = model_bench("prefill", {"-n", "16,70", "--depth", "3", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json report = Json::parse(result.out);
  expect_keys(report,
              {"cpu", "isa", "peak_read_gb_per_s", "peak_f32_gflop_per_s", "peak_int8_gop_per_s",
               "load_s", "load_peak_memory_mb", "load_from", "weights_mb", "kv_bytes_per_token"});
  EXPECT_EQ(report["command"], "prefill");
  EXPECT_EQ(report["model"], "demo");
  EXPECT_EQ(report["threads"], 1);
  EXPECT_EQ(report["weights"], "int8");
  EXPECT_EQ(report["kv"], "int8");
  // 8 layers, 2 KV heads, K and V of 64 channels of a byte and a scale of two.
  EXPECT_EQ(report["kv_bytes_per_token"], 8 * 2 * 2 * (64 + 2));
  ASSERT_EQ(report["rows"].size(), 2u);
  for (const Json& row : report["rows"]) {
    expect_keys(row, {"tokens_per_s_min", "tokens_per_s_max", "gop_per_s", "share_of_bound",
                      "rate_to_first_row", "peak_memory_mb"});
    EXPECT_GT(row["tokens_per_s"], 0);
    EXPECT_EQ(row["depth"], 3);
  }
  EXPECT_EQ(report["rows"][0]["tokens"], 16);
  EXPECT_EQ(report["rows"][0]["rate_to_first_row"], 1);
  EXPECT_EQ(report["rows"][1]["tokens"], 70);
}

TEST(BenchSystem, auto_weights_are_as_in_the_files) {
  const ProgramResult result =
      model_bench("prefill", {"-n", "16", "--depth", "0", "--weights", "auto", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["weights"], "bf16");
}

TEST(BenchSystem, decode_compares_shared_pages_with_private_ones) {
  const ProgramResult result = model_bench(
      "decode", {"--batch", "1,2", "--depth", "0,64", "--shared-prefix", "64", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json rows = Json::parse(result.out)["rows"];
  // Batch, depth, shared prefix: a single sequence shares with no other, and at depth 0 there is
  // nothing to share.
  const std::vector<std::vector<int>> expected = {
      {1, 0, 0}, {2, 0, 0}, {1, 64, 0}, {2, 64, 0}, {2, 64, 64}};
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows[i];
    EXPECT_EQ((std::vector<int>{row["batch"], row["depth"], row["shared_prefix"]}), expected[i]);
    expect_keys(row, {"tokens_per_s", "rate_to_private", "gb_per_s", "peak_read_gb_per_s",
                      "share_of_bandwidth", "share_of_bound", "peak_memory_mb"});
    EXPECT_EQ(row.size(), rows[0].size()) << "one table";
    EXPECT_GT(row["rate_to_private"], 0);
    if (expected[i][2] == 0) {
      EXPECT_EQ(row["rate_to_private"], 1);
    }
  }
}

// The demo model with another context, as links in `dir`.
std::string demo_with_context(const testing::ScratchDir& dir, int64_t tokens) {
  for (const auto& file : std::filesystem::directory_iterator(testing::demo_model_dir())) {
    std::filesystem::create_symlink(file.path(), dir.path() / file.path().filename());
  }
  std::ifstream file(testing::demo_model_dir() / "config.json");
  Json config = Json::parse(file);
  config["max_position_embeddings"] = tokens;
  std::filesystem::remove(dir.path() / "config.json");
  std::ofstream(dir.path() / "config.json") << config;
  return dir.path().string();
}

TEST(BenchSystem, lengths_nobody_chose_are_those_the_context_has_room_for) {
  const testing::ScratchDir dir;
  const std::string model = demo_with_context(dir, 100);
  const ProgramResult result = bench(
      {"prefill", "--model", model, "--depth", "16", "--repeats", "1", "--threads", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json rows = Json::parse(result.out)["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["tokens"], 84);
}

TEST(BenchSystem, tables_have_a_line_for_each_row) {
  const ProgramResult result =
      model_bench("decode", {"--batch", "2", "--depth", "5,6", "--kv", "bf16"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("command: decode\n")) << result.out;
  const size_t table = result.out.find("\n\n");
  ASSERT_NE(table, std::string::npos);
  const std::string lines = result.out.substr(table + 2);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3) << lines;
  EXPECT_THAT(lines, HasSubstr("tokens_per_s"));
  EXPECT_THAT(lines, ::testing::Not(HasSubstr("rate_to_private")));
}

TEST(BenchSystem, attention_of_one_layer_needs_no_model) {
  const ProgramResult result = bench(
      {"attention", "--depth", "64,100", "--tokens", "1,80", "--query-heads", "4", "--kv-heads",
       "2", "--head-dim", "32", "--kv", "f32,int8", "--repeats", "1", "--threads", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json rows = Json::parse(result.out)["rows"];
  ASSERT_EQ(rows.size(), 6u) << "80 tokens are more than a depth of 64";
  for (const Json& row : rows) {
    expect_keys(row, {"kv", "depth", "tokens", "gop_per_s", "share_of_peak", "gb_per_s"});
  }
}

struct WrongArguments {
  std::vector<std::string> arguments;
  const char* error;
};

void expect_usage_errors(const std::vector<WrongArguments>& cases) {
  for (const auto& [arguments, error] : cases) {
    const ProgramResult result = bench(arguments);
    EXPECT_EQ(result.exit_code, 2) << error;
    EXPECT_THAT(result.err, HasSubstr(error));
    EXPECT_LT(result.err.find(error), result.err.find('\n')) << "in the first line";
    EXPECT_EQ(result.out, "");
  }
}

TEST(BenchSystem, wrong_command_lines_are_explained) {
  expect_usage_errors({
      {{}, "a command is missing; it must be one of: peak, gemm, attention, prefill, decode"},
      {{"bogus"}, "\"bogus\" is not a command; it must be one of: peak"},
      {{"decode"}, "--model is required"},
      {{"decode", "--model", ""}, "--model: must not be empty"},
      {{"peak", "--isa", "sse"},
       "--isa: must be scalar, avx2, avx512, avx512vnni, neon or openblas"},
      {{"peak", "--threads", "0"}, "--threads: Value 0 not in range 1 to 256"},
      {{"peak", "--threads", "257"}, "--threads: Value 257 not in range"},
      {{"peak", "--repeats", "0"}, "--repeats: Value 0 not in range"},
      {{"peak", "--repeats", "-1"}, "--repeats: Value -1 not in range"},
      {{"peak", "--bogus"}, "--bogus"},
      {{"gemm", "--weights", "int8,f16"},
       "--weights: must be f32, bf16, int8, int4, q4k, q5k, q6k or mxfp4, got \"f16"},
      {{"gemm", "--rows", "513"}, "--rows: Value 513 not in range 1 to 512"},
      {{"gemm", "--rows", "1,x"}, "--rows: Value x not in range"},
      {{"attention", "--kv", "int4"}, "--kv: must be f32, bf16, fp16, fp8 or int8, got \"int4"},
      {{"attention", "--kv-heads", "3"},
       "--kv-heads: must divide --query-heads, which is 16, got 3"},
      {{"attention", "--head-dim", "100"}, "--head-dim: 100 not in {"},
      {{"attention", "--tokens", "9", "--depth", "4,8"},
       "--tokens: 9 are more than --depth, which is at most 8"},
      {{"attention", "--depth", "16777216", "--kv", "f32", "--kv-heads", "1024", "--query-heads",
        "1024", "--head-dim", "512"},
       "--depth: one layer of 16777216 tokens takes 70"},
  });
}

TEST(BenchSystem, wrong_options_of_models_are_explained) {
  const std::string model = testing::demo_model_dir().string();
  expect_usage_errors({
      {{"prefill", "--model", model, "--weights", "f16"},
       "--weights: must be auto, f32, bf16, int8"},
      {{"decode", "--model", model, "--kv", "int4"}, "--kv: must be f32, bf16, fp16, fp8 or int8"},
      {{"prefill", "--model", model, "-n", "0"}, "--tokens: Value 0 not in range 1 to 16777216"},
      {{"prefill", "--model", model, "-n", "-5"}, "--tokens: Value -5 not in range"},
      {{"prefill", "--model", model, "-n", "16777217"}, "--tokens: Value 16777217 not in range"},
      {{"prefill", "--model", model, "-n", "16,16385"},
       "--tokens: asks for 16385 tokens in all; the model's context holds 16384"},
      {{"prefill", "--model", model, "-n", "1", "--depth", "16384"},
       "--tokens: asks for 16385 tokens in all"},
      {{"prefill", "--model", model, "--depth", "1,2"}, "--depth"},
      {{"decode", "--model", model, "--depth", "16369"},
       "--depth: asks for 16385 tokens in all; the model's context holds 16384"},
      {{"decode", "--model", model, "--depth", "16777216", "--batch", "512"},
       "--depth: asks for 16777232 tokens in all"},
      {{"decode", "--model", model, "--batch", "513"}, "--batch: Value 513 not in range 1 to 512"},
      {{"decode", "--model", model, "--batch", "0"}, "--batch: Value 0 not in range"},
      {{"decode", "--model", model, "--shared-prefix", "63"},
       "--shared-prefix: must be 0 or at least 64: sequences share whole pages"},
      {{"decode", "--model", model, "--shared-prefix", "4097"},
       "--shared-prefix: must not be over the largest depth, which is 4096"},
      {{"prefill", "--model", model, "--depth", "16384"},
       "--depth: asks for 16385 tokens in all; the model's context holds 16384"},
  });
}

TEST(BenchSystem, sequences_that_memory_cannot_hold_are_refused) {
  // The demo model with a longer context: 512 sequences of 4 Mi tokens would take 35 TB in f32.
  const testing::ScratchDir dir;
  const std::string model = demo_with_context(dir, 1 << 22);
  expect_usage_errors({{{"decode", "--model", model, "--kv", "f32", "--depth", "4194000", "--batch",
                         "1,512", "--threads", "1"},
                        "--batch: measuring 512 x 4194016 tokens takes 17"}});
}

TEST(BenchSystem, libraries_that_were_not_built_in_are_refused) {
  const ProgramResult result =
      bench({"gemm", "--libraries", "--weights", "f32", "-m", "1", "--repeats", "1"});
  if (result.exit_code == 0) GTEST_SKIP() << "this build has them";
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--libraries: this build has none"));
}

TEST(BenchSystem, a_model_that_is_not_there_is_a_failure) {
  const ProgramResult result = bench({"prefill", "--model", "no/such/model", "-n", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      result.err,
      HasSubstr(
          "cascade-bench: not_found: no/such/model: is neither a model folder nor a GGUF file"));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
}

}  // namespace
}  // namespace cascade
