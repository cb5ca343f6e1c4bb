// cascade-eval estimate as a process: a table, or one line for each length, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"
#include "tests/shared_dir.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;

ProgramResult estimate(const std::vector<std::string>& options) {
  std::vector<std::string> arguments = {"estimate", "--model", testing::demo_model_dir().string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_program("cascade-eval", arguments);
}

TEST(EstimateSystem, has_a_line_for_each_context_length) {
  const ProgramResult result = estimate({"--json", "--weights", "int8", "--tokens", "1,65,16384",
                                         "--sequences", "3", "--threads", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  const std::vector<std::pair<int64_t, int64_t>> expected = {{1, 3}, {65, 6}, {16384, 768}};
  for (const auto& [tokens, pages] : expected) {
    std::string text;
    ASSERT_TRUE(std::getline(lines, text));
    const Json line = Json::parse(text);
    EXPECT_EQ(line["tokens"], tokens);
    EXPECT_EQ(line["sequences"], 3);
    EXPECT_EQ(line["pages"], pages);
    // 8 layers, 2 KV heads, K and V of 64 tokens of 64 channels of a byte and a scale of two; an
    // index of 140 bytes; in whole pages of the system.
    constexpr int kPageBytes = 8 * 2 * (2 * 64 * (64 + 2) + 140);
    EXPECT_EQ(line["page_bytes"], (kPageBytes / 4096 + 1) * 4096);
    EXPECT_EQ(line["kv_bytes"], pages * line["page_bytes"].get<int64_t>());
    EXPECT_GT(line["weights_bytes"], 15'000'000) << "16 M parameters of a byte";
    EXPECT_LT(line["weights_bytes"], 17'000'000);
    EXPECT_EQ(line["total_bytes"], line["weights_bytes"].get<int64_t>() +
                                       line["kv_bytes"].get<int64_t>() +
                                       line["activation_bytes"].get<int64_t>());
    EXPECT_EQ(line["kv_in_memory_bytes"], line["kv_bytes"]);
    EXPECT_EQ(line["memory_bytes"], line["total_bytes"]);
    EXPECT_GT(line["kv_disk_bytes"], line["kv_bytes"]) << "pages have headers there";
    EXPECT_EQ(line["weights"], "int8");
    EXPECT_EQ(line["kv"], "int8");
    EXPECT_EQ(line["threads"], 2);
  }
  EXPECT_EQ(lines.peek(), EOF);
}

TEST(EstimateSystem, says_what_is_in_memory_and_what_is_on_disk) {
  const ProgramResult result = estimate({"--json", "--tokens", "640,6400", "--kv-memory", "2M"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  std::string text;
  ASSERT_TRUE(std::getline(lines, text));
  const Json fits = Json::parse(text);
  EXPECT_EQ(fits["kv_in_memory_bytes"], fits["kv_bytes"]);
  ASSERT_TRUE(std::getline(lines, text));
  const Json longer = Json::parse(text);
  EXPECT_EQ(longer["kv_memory_bytes"], 2 << 20);
  EXPECT_EQ(longer["kv_in_memory_bytes"], 15 * longer["page_bytes"].get<int64_t>());
  // Two buffers of 32 MiB for reading, and the totals of attention, come on top.
  const int64_t other = longer["memory_bytes"].get<int64_t>() -
                        longer["weights_bytes"].get<int64_t>() -
                        longer["kv_in_memory_bytes"].get<int64_t>();
  const int64_t least = (64 << 20) + longer["activation_bytes"].get<int64_t>();
  EXPECT_GT(other, least);
  EXPECT_LT(other, least + (8 << 20));
  EXPECT_THAT(estimate({"--kv-memory", "2M"}).out, HasSubstr("With kv_memory 2.0 MiB"));
}

TEST(EstimateSystem, needs_no_more_than_a_model_and_has_the_daemons_defaults) {
  const ProgramResult table = estimate({});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr(" as bf16: 100 % of their bytes are BF16\n"));
  EXPECT_THAT(table.out, HasSubstr("2,176 bytes a token as int8\n"));
  for (const char* length : {" 1,024 ", " 4,096 ", " 16,384 "}) {
    EXPECT_THAT(table.out, HasSubstr(length));
  }
  EXPECT_THAT(table.out, HasSubstr("the model's context\n"));
  EXPECT_THAT(table.out, HasSubstr("Without kv_memory the daemon gives K and V "));
  const ProgramResult lines = estimate({"--json"});
  ASSERT_EQ(lines.exit_code, 0) << lines.err;
  std::istringstream all(lines.out);
  std::vector<int64_t> lengths;
  for (std::string text; std::getline(all, text);) {
    const Json line = Json::parse(text);
    lengths.push_back(line["tokens"].get<int64_t>());
    EXPECT_EQ(line["weights"], "bf16");
    EXPECT_EQ(line["kv"], "int8");
    EXPECT_GE(line["kv_memory_bytes"], int64_t{64} << 20);
  }
  EXPECT_THAT(lengths, ::testing::ElementsAre(1024, 4096, 16384));
}

TEST(EstimateSystem, options_outside_their_limits_are_usage_errors) {
  struct Case {
    std::vector<std::string> options;
    const char* error;
  };
  for (const auto& [options, error] : std::vector<Case>{
           {{"--tokens", "16385"}, "--tokens: must be from 1 to 16384 (the model's context), got "},
           {{"--tokens", "64,0"}, "--tokens: must be from 1 to 16384 (the model's context), got 0"},
           {{"--tokens", "-1"}, "--tokens: must be from 1 to 16384 (the model's context), got -1"},
           {{"--tokens", "99999999999999999999"}, "--tokens: must be from 1 to 16384"},
           {{"--tokens", "-99999999999999999999"}, "--tokens: must be from 1 to 16384"},
           {{"--tokens", "1.5"}, "--tokens: must be whole numbers, got \"1.5\""},
           {{"--tokens", "x"}, "--tokens: must be whole numbers, got \"x\""},
           {{"--tokens", "1", "--sequences", "0"}, "--sequences: Value 0 not in range"},
           {{"--tokens", "1", "--sequences", "x"}, "--sequences: Value x not in range"},
           {{"--tokens", "1", "--weights", "f16"},
            "--weights: must be auto, f32, bf16, int8, int4, q4k, q5k, q6k or mxfp4"},
           {{"--tokens", "1", "--kv", "int4"}, "--kv: must be f32, bf16, fp16, fp8 or int8"}}) {
    const ProgramResult result = estimate(options);
    EXPECT_EQ(result.exit_code, 2) << error;
    EXPECT_THAT(result.err, HasSubstr(error));
    EXPECT_EQ(result.out, "");
  }
  const ProgramResult none =
      run_program("cascade-eval", {"estimate", "--model", "no/such", "--tokens", "1"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("no/such: is neither a model folder nor a GGUF file"));
}

}  // namespace
}  // namespace cascade
