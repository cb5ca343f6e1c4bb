// The command line of cascadectl.
#include "clients/ctl/options.h"

#include <gtest/gtest.h>

#include "clients/ctl/run.h"

namespace cascade::ctl {
namespace {

std::variant<Options, int> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "cascadectl");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

Options options_of(const std::vector<const char*>& arguments) {
  std::variant<Options, int> parsed = parse(arguments);
  if (std::holds_alternative<int>(parsed)) {
    ADD_FAILURE() << "exit code " << std::get<int>(parsed);
    return {};
  }
  return std::get<Options>(parsed);
}

int exit_code(const std::vector<const char*>& arguments) {
  const std::variant<Options, int> parsed = parse(arguments);
  return std::holds_alternative<int>(parsed) ? std::get<int>(parsed) : -1;
}

TEST(Options, take_global_options_before_and_behind_the_command) {
  const Options before = options_of({"--json", "--endpoint", "ipc:///x", "status"});
  EXPECT_TRUE(before.json);
  EXPECT_EQ(before.endpoint, "ipc:///x");
  const Options behind = options_of({"chunk", "list", "--json", "--endpoint", "ipc:///y"});
  EXPECT_TRUE(behind.json);
  EXPECT_EQ(behind.endpoint, "ipc:///y");
  EXPECT_EQ(behind.command, Options::Command::kChunkList);
}

TEST(Options, keep_the_order_of_contexts_of_all_kinds) {
  const Options options =
      options_of({"generate", "--chunk", "output_1", "--context", "a", "--context-file", "f",
                  "--context", "b", "--chunk", "chunk_2", "the question"});
  std::string order;
  for (const ContextArgument& context : options.generate.contexts) {
    order += std::to_string(static_cast<int>(context.kind)) + context.value + " ";
  }
  EXPECT_EQ(order, "2output_1 0a 1f 0b 2chunk_2 ");
  EXPECT_EQ(options.generate.query, "the question");
}

TEST(Options, fill_the_parameters_of_a_generation) {
  const Options options = options_of({"generate",
                                      "--max-tokens",
                                      "7",
                                      "--temperature",
                                      "0.5",
                                      "--top-p",
                                      "0.9",
                                      "--top-k",
                                      "40",
                                      "--min-p",
                                      "0.1",
                                      "--seed",
                                      "18446744073709551615",
                                      "--stop",
                                      "a",
                                      "--stop",
                                      "b",
                                      "--no-think",
                                      "--think-policy",
                                      "keep",
                                      "--retain",
                                      "--logprobs",
                                      "--stream",
                                      "--system",
                                      "s",
                                      "--query",
                                      "q"});
  const wire::GenerateRequest& params = options.generate.params;
  EXPECT_EQ(params.max_tokens, 7);
  EXPECT_EQ(params.sampling.temperature, 0.5);
  EXPECT_EQ(params.sampling.top_p, 0.9);
  EXPECT_EQ(params.sampling.top_k, 40);
  EXPECT_EQ(params.sampling.min_p, 0.1);
  EXPECT_EQ(params.sampling.seed, UINT64_MAX);
  EXPECT_EQ(params.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(params.thinking, false);
  EXPECT_EQ(params.think_policy, ThinkPolicy::kKeep);
  EXPECT_TRUE(params.retain_output && params.logprobs && options.generate.stream);
  EXPECT_EQ(options.generate.query, "q");
}

TEST(Options, leave_what_is_not_given_to_the_daemon) {
  const wire::GenerateRequest& params = options_of({"generate", "x"}).generate.params;
  EXPECT_FALSE(params.sampling.temperature.has_value());
  EXPECT_FALSE(params.sampling.seed.has_value());
  EXPECT_FALSE(params.thinking.has_value());
  EXPECT_EQ(params.think_policy, ThinkPolicy::kReprefill);
  EXPECT_FALSE(options_of({"generate"}).generate.query.has_value());
  EXPECT_EQ(options_of({"generate", "--think", "x"}).generate.params.thinking, true);
}

TEST(Options, of_chunks) {
  EXPECT_EQ(options_of({"chunk", "list", "--type", "output"}).list.type, ChunkType::kOutput);
  EXPECT_EQ(options_of({"chunk", "show", "chunk_1"}).ids, std::vector<std::string>{"chunk_1"});
  EXPECT_EQ(options_of({"chunk", "delete", "a", "b"}).ids.size(), 2u);
}

TEST(Options, exit_with_usage_for_a_wrong_command_line) {
  EXPECT_EQ(exit_code({}), kExitUsage);
  EXPECT_EQ(exit_code({"frobnicate"}), kExitUsage);
  EXPECT_EQ(exit_code({"chunk"}), kExitUsage);
  EXPECT_EQ(exit_code({"chunk", "show"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "--top-k", "many", "x"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "x", "--query", "y"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "--think-policy", "mask", "x"}), kExitUsage);
  EXPECT_EQ(exit_code({"chunk", "list", "--type", "noise"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "--think", "--no-think", "x"}), kExitUsage);
  EXPECT_EQ(exit_code({"--help"}), kExitOk);
}

}  // namespace
}  // namespace cascade::ctl
