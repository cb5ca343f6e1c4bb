// cascade-eval compares the think policies, as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/shared_dir.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;

ProgramResult ask(const std::string& model, const std::string& tasks) {
  return run_program("cascade-eval",
                     {"think", "--model", model, "--tasks", "-", "--threads", "1", "--weights",
                      "int8", "--kv", "int8"},
                     tasks);
}

// A turn about the capital of France, whose thoughts are `thought`.
std::string line_with(const std::string& id, const std::string& thought,
                      const std::string& reply = "The capital of France is Paris.",
                      const std::string& question = "What is the capital of Italy?") {
  return Json{{"id", id},
              {"kind", "capital"},
              {"messages", {{{"role", "user"}, {"content", "What is the capital of France?"}}}},
              {"thought", thought},
              {"reply", reply},
              {"question", question},
              {"answer", "The capital of Italy is Rome."}}
             .dump() +
         '\n';
}

std::string long_thought(int sentences) {
  std::string text;
  for (int i = 0; i < sentences; ++i) text += "The user wants to know a capital. ";
  return text;
}

TEST(EvalThink, policies_are_compared_with_the_exact_history) {
  const ProgramResult result =
      ask(testing::demo_model_dir().string(), line_with("a", long_thought(20)) +
                                                  line_with("long", long_thought(3000)) +
                                                  line_with("b", long_thought(1)));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<Json> lines;
  std::istringstream stream(result.out);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1]["id"], "long");
  EXPECT_THAT(lines[1]["error"].get<std::string>(),
              HasSubstr("tokens; the model's context holds 16384"));
  EXPECT_FALSE(lines[1].contains("policies"));
  for (const Json& line : {lines[0], lines[2]}) {
    EXPECT_EQ(line["kind"], "capital");
    EXPECT_GT(line["thought_tokens"], 5);
    EXPECT_GT(line["reply_tokens"], 5);
    const Json& policies = line["policies"];
    ASSERT_EQ(policies.size(), 4u);
    for (const Json& policy : policies) {
      const std::string name = policy["policy"];
      EXPECT_EQ(policy["output"], "The capital of Italy is Rome.") << name;
      EXPECT_EQ(policy["as_expected"], true) << name;
      EXPECT_EQ(policy["equal"], true) << name;
      EXPECT_GE(policy["ready_seconds"], 0) << name;
      EXPECT_GT(policy["first_token_seconds"], 0) << name;
      ASSERT_GT(policy["kl"].size(), 5u) << name;
      const bool differs = std::ranges::any_of(policy["kl"], [](const Json& kl) { return kl > 0; });
      EXPECT_EQ(differs, name != "reprefill") << name;
    }
    EXPECT_EQ(policies[0]["policy"], "reprefill");
    EXPECT_EQ(policies[1]["policy"], "splice");
    EXPECT_EQ(policies[2]["policy"], "mask");
    EXPECT_EQ(policies[3]["policy"], "keep");
    EXPECT_EQ(policies[1]["kv_bytes"], policies[0]["kv_bytes"]);
    EXPECT_EQ(policies[2]["kv_bytes"], policies[0]["kv_bytes"]);
  }
  EXPECT_GT(lines[0]["policies"][3]["kv_bytes"], lines[0]["policies"][0]["kv_bytes"]);
  EXPECT_THAT(result.err, HasSubstr("\ncapital  reprefill          2/2       2/2        100.00 %"));
  EXPECT_THAT(result.err, HasSubstr("\nall      keep               2/2       2/2        100.00 %"));
  EXPECT_THAT(result.err, HasSubstr("\n1 of 3 tasks could not be asked"));
}

TEST(EvalThink, errors_name_the_line_or_the_model) {
  const std::string good = line_with("a", "A capital.");
  const ProgramResult line =
      ask(testing::demo_model_dir().string(), good + line_with("b", "") + good);
  EXPECT_EQ(line.exit_code, 1);
  EXPECT_EQ(line.out, "") << "no task is asked before all lines are read";
  EXPECT_THAT(line.err, HasSubstr("line 2: thought: must have more than white space"));
  const ProgramResult hybrid = ask((testing::fixtures_dir() / "qwen3-5").string(), good);
  EXPECT_NE(hybrid.exit_code, 0);
  EXPECT_THAT(hybrid.err, HasSubstr("--model: has recurrent layers"));
}

// The sum of the divergences of each policy.
std::vector<double> sums_of(const std::string& output) {
  std::vector<double> sums;
  const Json line = Json::parse(output);
  for (const Json& policy : line["policies"]) {
    sums.push_back(0);
    for (const double kl : policy["kl"]) sums.back() += kl;
  }
  return sums;
}

TEST(EvalThink, approximations_are_closer_to_exact_than_thoughts_that_stay) {
  const ProgramResult result =
      ask(testing::demo_model_dir().string(),
          line_with("a", long_thought(20) + "The code of the red box is 4711.",
                    "Ask me about the box.", "What is the code of the red box?"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<double> sums = sums_of(result.out);
  ASSERT_EQ(sums.size(), 4u);
  EXPECT_EQ(sums[0], 0);
  EXPECT_LT(sums[1], sums[3] / 10);
  EXPECT_LT(sums[2], sums[3] / 2);
}

TEST(EvalThink, a_task_whose_answer_might_not_fit_the_context_is_not_asked) {
  std::string thought;
  for (int i = 0; i < 16268; ++i) thought += "a ";
  const ProgramResult result = ask(testing::demo_model_dir().string(), line_with("a", thought));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("may take 16385 tokens; the model's context holds 16384"));
}

}  // namespace
}  // namespace cascade
