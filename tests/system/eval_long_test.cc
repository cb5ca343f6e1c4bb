// cascade-eval with attention modes, and its questions about long contexts, as a process.
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

ProgramResult ask_long(const std::vector<std::string>& options, const std::string& tasks) {
  std::vector<std::string> arguments = {"long",    "--model",   testing::demo_model_dir().string(),
                                        "--tasks", "-",         "--threads",
                                        "1",       "--weights", "int8",
                                        "--kv",    "int8"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_program("cascade-eval", arguments, tasks);
}

std::string task_line(const std::string& id, const std::string& question,
                      const std::string& answer) {
  return Json{{"id", id},
              {"kind", "capital"},
              {"tokens", 30},
              {"messages", {{{"role", "user"}, {"content", question}}}},
              {"answer", answer}}
             .dump() +
         '\n';
}

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(EvalLong, answers_are_compared_and_a_prompt_that_is_too_long_does_not_end_the_run) {
  const ProgramResult result = ask_long(
      {},
      task_line("right", "What is the capital of France?", "\nThe capital of France is Paris. ") +
          task_line("long", repeated("one two three four ", 5000), "Paris") +
          task_line("wrong", "What is the capital of France?", "Paris"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<Json> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["id"], "right");
  EXPECT_EQ(lines[0]["kind"], "capital");
  EXPECT_EQ(lines[0]["tokens"], 30);
  EXPECT_EQ(lines[0]["correct"], true);
  EXPECT_EQ(lines[0]["output"], "The capital of France is Paris.");
  EXPECT_GT(lines[0]["prompt_tokens"], 5);
  EXPECT_TRUE(lines[0]["seconds"].is_number());
  EXPECT_THAT(lines[1]["error"].get<std::string>(),
              HasSubstr("tokens; the model's context holds 16384"));
  EXPECT_GT(lines[1]["prompt_tokens"], 16384);
  EXPECT_FALSE(lines[1].contains("output"));
  EXPECT_EQ(lines[2]["correct"], false);
  EXPECT_THAT(result.err, HasSubstr("kind      30  all\ncapital  1/3  1/3\nall      1/3  1/3\n"));
}

TEST(EvalLong, memory_does_not_change_answers_and_a_window_does) {
  // The prompt has more pages than the nine that fit the memory. The question stands before the
  // window.
  const std::string tasks = task_line(
      "a", repeated("Say one. ", 20) + "What is the capital of France? " + repeated("Go on. ", 200),
      "");
  const auto answer = [&](const std::vector<std::string>& options) {
    const ProgramResult result = ask_long(options, tasks);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return lines_of(result.out).at(0)["output"];
  };
  const testing::ScratchDir dir;
  const std::vector<std::string> spilled = {"--kv-memory", "1300K", "--spill-dir",
                                            dir.path().string()};
  const Json dense = answer({});
  EXPECT_EQ(answer(spilled), dense);
  std::vector<std::string> window = {"--attention", "window:64:0"};
  const Json shown = answer(window);
  EXPECT_NE(shown, dense);
  window.insert(window.end(), spilled.begin(), spilled.end());
  EXPECT_EQ(answer(window), shown);
}

TEST(EvalLong, modes_are_compared_with_the_first_one) {
  // 1,230 tokens: with select:64, tokens select from position 1,152 on.
  const std::string tasks = task_line(
      "a", "What is the capital of France? " + repeated("one two three four ", 300), "Paris");
  const ProgramResult result =
      ask_long({"--compare", "select:64", "window:64:0", "dense"}, tasks + tasks);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<Json> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["selected_tokens"], 0);
  const Json& compared = lines[0]["compared"];
  ASSERT_EQ(compared.size(), 3u);
  EXPECT_EQ(compared[0]["attention"], "select:64:0");
  EXPECT_GT(compared[0]["selected_tokens"], 0);
  EXPECT_GT(compared[0]["kl"][0], 0);
  EXPECT_EQ(compared[1]["attention"], "window:64:0");
  EXPECT_GT(compared[1]["kl"][0], 0);
  EXPECT_EQ(compared[2]["output"], lines[0]["output"]);
  ASSERT_GT(compared[2]["kl"].size(), 1u);
  for (const Json& kl : compared[2]["kl"]) EXPECT_EQ(kl, 0) << "a mode is itself";
  EXPECT_EQ(compared[0]["kl"], lines[1]["compared"][0]["kl"]);
  // With a part of K and V in a file, the numbers are the same.
  const testing::ScratchDir dir;
  const ProgramResult spilled = ask_long(
      {"--compare", "select:64", "--kv-memory", "2300K", "--spill-dir", dir.path().string()},
      tasks);
  ASSERT_EQ(spilled.exit_code, 0) << spilled.err;
  const Json in_file = lines_of(spilled.out).at(0)["compared"][0];
  EXPECT_EQ(in_file["selected_tokens"], compared[0]["selected_tokens"]);
  EXPECT_EQ(in_file["output"], compared[0]["output"]);
  EXPECT_EQ(in_file["kl"], compared[0]["kl"]);
  EXPECT_THAT(result.err, HasSubstr("\nselect:64:0\nkind"));
  EXPECT_THAT(result.err, HasSubstr("30 tokens: KL from dense mean 0, 99 % at most 0, largest 0; "
                                    "the same top token in 100.00 % of"));
}

TEST(EvalLong, errors_name_the_line_or_the_option) {
  const std::string good = task_line("a", "b", "c");
  const ProgramResult line = ask_long({}, good + "\n{\"id\":\"a\"}\n");
  EXPECT_EQ(line.exit_code, 1);
  EXPECT_THAT(line.err, HasSubstr("line 3: kind: is missing"));
  EXPECT_EQ(line.out, "") << "no task is asked before all lines are read";
  EXPECT_THAT(ask_long({}, good + "[1]\n").err, HasSubstr("line 2: is not a JSON object"));
  struct Case {
    std::vector<std::string> options;
    const char* error;
  };
  for (const auto& [options, error] : std::vector<Case>{
           {{"--attention", "window:8"},
            "--attention: the window W must be a whole number from 64"},
           {{"--compare", "sparse"}, "--compare: must be dense, window"},
           {{"--kv-memory", "1300K", "--compare", "select"},
            "pages that 512 tokens may be in and the indexes of the context, got 1331200"},
           {{"--kv-memory", "1K"}, "--kv-memory: must be at least"},
           {{"--kv-memory", "9M", "--spill-dir", "/nowhere"}, "--spill-dir: no file can be made"},
           {{"--spill-dir", "/tmp"}, "--spill-dir requires --kv-memory"}}) {
    const ProgramResult result = ask_long(options, good);
    EXPECT_EQ(result.exit_code, 2) << error;
    EXPECT_THAT(result.err, HasSubstr(error));
  }
}

TEST(EvalNll, a_window_that_hides_nothing_changes_no_bit_and_another_one_does) {
  const testing::ScratchDir dir;
  const std::string path = (dir.path() / "text.txt").string();
  std::ofstream(path) << repeated("What is the capital of France? It is Paris.\n", 60);
  const auto losses = [&](const std::string& mode) {
    const ProgramResult result = run_program(
        "cascade-eval", {"nll", "--model", testing::demo_model_dir().string(), "--text", path,
                         "--window", "300", "--threads", "1", "--attention", mode});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  };
  const Json dense = losses("dense");
  const Json whole = losses("window:300:0");
  EXPECT_EQ(dense["attention"], "dense");
  EXPECT_EQ(whole["attention"], "window:300:0");
  EXPECT_EQ(whole["nll_sum"], dense["nll_sum"]);
  EXPECT_NE(losses("window:64:4")["nll_sum"], dense["nll_sum"]);
}

}  // namespace
}  // namespace cascade
