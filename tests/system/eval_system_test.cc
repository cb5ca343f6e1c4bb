// cascade-eval as a process: what it refuses, and that it says where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/shared_dir.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;

// A command on the demo model, with its lines from standard input.
ProgramResult eval(const char* command, std::vector<std::string> options,
                   const std::string& lines) {
  std::vector<std::string> arguments = {command, "--model", testing::demo_model_dir().string(),
                                        "--input", "-"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_program("cascade-eval", arguments, lines);
}

TEST(EvalSystem, numbers_outside_their_range_are_usage_errors) {
  for (const char* seed : {"-1", "18446744073709551616", "1.5"}) {
    const ProgramResult result = eval("generate", {"--seed", seed}, "");
    EXPECT_EQ(result.exit_code, 2) << seed;
    EXPECT_THAT(result.err,
                HasSubstr("--seed: must be a whole number from 0 to 18446744073709551615"));
  }
  for (const char* temperature : {"nan", "inf", "-1", "101", "warm"}) {
    const ProgramResult result = eval("generate", {"--temperature", temperature}, "");
    EXPECT_EQ(result.exit_code, 2) << temperature;
    EXPECT_THAT(result.err, HasSubstr("--temperature: must be a number from 0 to 100, got " +
                                      std::string(temperature)));
  }
  EXPECT_EQ(eval("logits", {"--weights", "f16"}, "").exit_code, 2);
}

TEST(EvalSystem, wrong_command_lines_are_explained) {
  const ProgramResult bogus = run_program("cascade-eval", {"bogus"});
  EXPECT_EQ(bogus.exit_code, 2);
  EXPECT_THAT(bogus.err, HasSubstr("\"bogus\" is not a command; it must be one of: tokenize"));
  EXPECT_THAT(run_program("cascade-eval", {}).err, HasSubstr("a command is missing"));
  const ProgramResult empty =
      run_program("cascade-eval", {"generate", "--model", "", "--input", "-"});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("--model: must not be empty"));
  const ProgramResult neither = run_program("cascade-eval", {"template", "--input", "-"});
  EXPECT_EQ(neither.exit_code, 2);
  EXPECT_THAT(neither.err, HasSubstr("--template"));
  EXPECT_THAT(run_program("cascade-eval", {"--help"}).out, HasSubstr("Exit codes: 0 done"));
}

TEST(EvalSystem, errors_of_input_name_the_line_and_the_limit) {
  struct Case {
    const char* command;
    const char* lines;
    const char* error;
  };
  for (const auto& [command, lines, error] : std::vector<Case>{
           {"tokenize", "{\"text\":\"a\"}\n\n{\"txt\":1}\n", "line 3: text: is missing"},
           {"tokenize", "{\"text\":7}\n", "line 1: text: must be a string, got number"},
           {"tokenize", "[1]\n", "line 1: is not a JSON object"},
           {"logits", "{\"text\":\"a\"}\n", "line 1: ids: is missing: a list of token ids"},
           {"logits", "{\"ids\":[1]}\n{\"ids\":7}\n",
            "line 2: ids: must be a list of token ids, got number"},
           {"logits", "{\"ids\":[]}\n", "line 1: ids: must not be empty"},
           {"generate", "{}\n", "line 1: needs \"ids\" or \"text\""},
           {"generate", "{\"text\":\"\"}\n", "line 1: text: has no tokens"},
           {"generate", "{\"ids\":[1,-3]}\n",
            "line 1: ids[1]: must be a whole number from 0 to 8191 (the vocabulary has 8192 ids), "
            "got -3"},
           {"detokenize", "{\"ids\":[5]}\n{\"ids\":[5,99999]}\n", "line 2: ids[1]: must be"},
           {"detokenize", "{\"ids\":[99999]}\n", "ids), got 99999"},
           {"detokenize", "{\"ids\":[99999999999999999999]}\n", "got 1e+20"},
           {"detokenize", "{\"ids\":[1.5]}\n", "got 1.5"}}) {
    const ProgramResult result = eval(command, {}, lines);
    EXPECT_EQ(result.exit_code, 1) << lines;
    EXPECT_THAT(result.err, HasSubstr(error)) << lines;
  }
}

TEST(EvalSystem, a_sequence_beyond_the_context_is_named_by_its_line) {
  std::string ids = "1";
  for (int i = 1; i < 20'000; ++i) ids += ",1";
  const ProgramResult result = eval("logits", {}, "{\"ids\":[1]}\n{\"ids\":[" + ids + "]}\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("line 2: has 20000 tokens; the model's context holds 16384"));
}

TEST(EvalSystem, does_what_it_is_asked_for) {
  const ProgramResult ids = eval("tokenize", {}, "{\"text\":\"Hi\"}\n");
  ASSERT_EQ(ids.exit_code, 0) << ids.err;
  const ProgramResult text = eval("detokenize", {}, ids.out);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(Json::parse(text.out)["text"], "Hi");
  const ProgramResult sampled =
      eval("generate", {"--max-tokens", "2", "--seed", "18446744073709551615"}, ids.out);
  ASSERT_EQ(sampled.exit_code, 0) << sampled.err;
  EXPECT_EQ(Json::parse(sampled.out)["ids"].size(), 2u);
}

}  // namespace
}  // namespace cascade
