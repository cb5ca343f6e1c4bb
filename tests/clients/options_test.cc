// The command line of cascadectl.
#include "clients/ctl/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>

#include "base/json.h"
#include "clients/ctl/run.h"
#include "tests/clients/command_lines.h"

namespace cascade::ctl {
namespace {

using ::testing::HasSubstr;
using testing::parse;

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
                                      "--reasoning-effort",
                                      "high",
                                      "--think-policy",
                                      "splice",
                                      "--no-heal",
                                      "--attention",
                                      "window:512:16",
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
  EXPECT_EQ(params.reasoning_effort, "high");
  EXPECT_EQ(params.think_policy, ThinkPolicy::kSplice);
  EXPECT_EQ(params.heal, false);
  EXPECT_EQ(params.attention, "window:512:16");
  EXPECT_TRUE(params.retain_output && params.logprobs && options.generate.stream);
  EXPECT_EQ(options.generate.query, "q");
}

TEST(Options, fill_penalties_and_biases) {
  for (const char* command : {"generate", "chat"}) {
    const Options options =
        options_of({command, "--presence-penalty", "0.5", "--frequency-penalty=-1.25",
                    "--logit-bias", "42=-100", "--logit-bias", "7=1.5e0"});
    const bool chat = options.command == Options::Command::kChat;
    const auto& sampling = (chat ? options.chat.params : options.generate.params).sampling;
    EXPECT_EQ(sampling.presence_penalty, 0.5);
    EXPECT_EQ(sampling.frequency_penalty, -1.25);
    ASSERT_EQ(sampling.logit_bias.size(), 2u);
    EXPECT_EQ(sampling.logit_bias[0].token, 42);
    EXPECT_EQ(sampling.logit_bias[0].bias, -100);
    EXPECT_EQ(sampling.logit_bias[1].token, 7);
    EXPECT_EQ(sampling.logit_bias[1].bias, 1.5);
  }
  const Options options =
      options_of({"generate", "--logprobs", "--top-logprobs", "5", "--batch", "prompts"});
  EXPECT_EQ(options.generate.params.top_logprobs, 5);
  EXPECT_EQ(options.generate.batch, "prompts");
}

TEST(Options, of_a_chat_have_an_attention_mode_for_all_its_turns) {
  EXPECT_EQ(options_of({"chat", "--attention", "window"}).chat.params.attention, "window");
}

TEST(Options, leave_what_is_not_given_to_the_daemon) {
  const wire::GenerateRequest& params = options_of({"generate", "x"}).generate.params;
  EXPECT_FALSE(params.sampling.temperature.has_value());
  EXPECT_FALSE(params.sampling.seed.has_value());
  EXPECT_FALSE(params.thinking.has_value());
  EXPECT_FALSE(params.reasoning_effort.has_value());
  EXPECT_FALSE(params.think_policy.has_value());
  EXPECT_FALSE(params.heal.has_value());
  EXPECT_FALSE(params.attention.has_value());
  EXPECT_TRUE(params.reuse);
  EXPECT_FALSE(options_of({"generate"}).generate.query.has_value());
  EXPECT_EQ(options_of({"generate", "--think", "x"}).generate.params.thinking, true);
}

TEST(Options, of_chunks) {
  EXPECT_EQ(options_of({"chunk", "list", "--type", "output"}).list.type, ChunkType::kOutput);
  EXPECT_EQ(options_of({"chunk", "show", "chunk_1"}).ids, std::vector<std::string>{"chunk_1"});
  EXPECT_EQ(options_of({"chunk", "delete", "a", "b"}).ids.size(), 2u);
}

// The text that parsing prints on stderr when it refuses the command line.
std::string refusal(const std::vector<const char*>& arguments) {
  ::testing::internal::CaptureStderr();
  const int code = exit_code(arguments);
  std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, kExitUsage) << printed;
  return printed;
}

TEST(Options, say_what_a_chat_keeps) {
  const ChatOptions usual = options_of({"chat"}).chat;
  EXPECT_EQ(usual.retain, Retain::kAlways);
  EXPECT_TRUE(usual.params.retain_output);
  EXPECT_FALSE(usual.params.output_ttl_ms.has_value());
  EXPECT_EQ(usual.params.session, "");
  const ChatOptions never = options_of({"chat", "--retain", "never"}).chat;
  EXPECT_EQ(never.retain, Retain::kNever);
  EXPECT_FALSE(never.params.retain_output);
  const ChatOptions ask = options_of({"chat", "--retain", "ask", "--ttl", "2h"}).chat;
  EXPECT_EQ(ask.retain, Retain::kAsk);
  EXPECT_EQ(ask.params.output_ttl_ms, 7'200'000);
  const Options session = options_of({"chat", "--session", "trip", "--ttl", "7d"});
  EXPECT_EQ(session.chat.params.session, "trip");
  EXPECT_TRUE(check_options(session).ok());
  EXPECT_TRUE(check_options(options_of({"chat", "--retain", "never"})).ok());
}

TEST(Options, refuse_a_chat_that_keeps_what_it_does_not_keep) {
  EXPECT_THAT(refusal({"chat", "--retain", "never", "--ttl", "1h"}),
              HasSubstr("--ttl excludes --retain never"));
  EXPECT_THAT(refusal({"chat", "--retain", "never", "--session", "trip"}),
              HasSubstr("--session excludes --retain never"));
  EXPECT_THAT(refusal({"chat", "--retain", "ask", "--session", "trip"}),
              HasSubstr("--session excludes --retain ask"));
  EXPECT_THAT(refusal({"chat", "--retain", "sometimes"}), HasSubstr("never"));
  EXPECT_THAT(refusal({"chat", "--ttl", "0s"}), HasSubstr("must be a time like"));
  EXPECT_THAT(refusal({"chat", "--session", ""}), HasSubstr("must not be empty"));
}

TEST(Options, mistakes_are_json_where_that_was_asked_for) {
  const std::vector<std::vector<const char*>> wrong = {
      {"chunk", "list", "--type", "zzz", "--json"},
      {"--json", "nope"},
      {"--json"},
      {"generate", "--temperature", "abc", "--json"}};
  for (const auto& arguments : wrong) {
    ::testing::internal::CaptureStdout();
    const int code = exit_code(arguments);
    const std::string printed = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(code, kExitUsage);
    const Json json = Json::parse(printed, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(json.is_object()) << printed;
    EXPECT_EQ(json["error"]["code"], "invalid_argument");
    EXPECT_FALSE(json["error"]["message"].get<std::string>().empty());
  }
}

TEST(Options, refuse_numbers_outside_their_range_by_name) {
  for (const char* seed : {"-1", "18446744073709551616", "99999999999999999999", "1.5", "0x10"}) {
    for (const char* command : {"generate", "chat"}) {
      EXPECT_THAT(refusal({command, "--seed", seed}),
                  HasSubstr(std::string("--seed: must be a whole number from 0 to "
                                        "18446744073709551615, got ") +
                            seed));
    }
  }
  EXPECT_EQ(options_of({"chat", "--seed", "18446744073709551615"}).chat.params.sampling.seed,
            UINT64_MAX);
  for (const char* limit : {"0", "-1", "1001", "5000"}) {
    const std::string printed = refusal({"chunk", "list", "--limit", limit});
    EXPECT_THAT(printed, HasSubstr("--limit"));
    EXPECT_THAT(printed, HasSubstr("1 to 1000"));
  }
  EXPECT_EQ(options_of({"chunk", "list", "--limit", "1000"}).list.limit, 1000u);
}

TEST(Options, refuse_bytes_that_are_no_text_by_name) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> cases = {
      {"PROMPT", {"generate", "ab\xFF"}},
      {"--query", {"generate", "--query", "ab\xFF"}},
      {"--system", {"generate", "--system", "ab\xFF", "x"}},
      {"--system", {"chat", "--system=ab\xFF"}},
      {"--context", {"generate", "--context", "ab\xFF", "x"}},
      {"--chunk", {"generate", "--chunk", "ab\xFF", "x"}},
      {"--stop", {"chat", "--stop", "ab\xFF"}},
      {"ID", {"chunk", "show", "ab\xFF"}},
      {"ID", {"chunk", "delete", "good", "ab\xFF"}}};
  for (const auto& [name, arguments] : cases) {
    EXPECT_THAT(refusal(arguments), HasSubstr(std::string(name) + ": is not UTF-8 at byte 2"));
  }
}

TEST(Options, refuse_a_logit_bias_that_is_none) {
  for (const char* bias : {"42", "=1", "42=", "a=1", "42=b", "42=1x", "4.2=1", "42 =1", ""}) {
    EXPECT_THAT(refusal({"generate", "--logit-bias", bias, "x"}),
                HasSubstr("--logit-bias: must be ID=BIAS"))
        << bias;
  }
}

TEST(Options, name_the_command_that_is_none) {
  EXPECT_THAT(refusal({"bogus"}),
              HasSubstr("\"bogus\" is not a command here; it must be one of: status, generate, "
                        "chat, chunk"));
  EXPECT_THAT(refusal({"chunk", "bogus"}),
              HasSubstr("\"bogus\" is not a command here; it must be one of: list, search, "
                        "show, delete"));
  EXPECT_THAT(refusal({}), HasSubstr("A command is missing; it must be one of: status"));
}

TEST(Options, offer_the_option_that_was_meant) {
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal({"generate", "--max-token", "5", "hi"}),
              HasSubstr("--max-token is not an option of cascadectl generate; did you mean "
                        "--max-tokens?"));
  EXPECT_THAT(refusal({"generate", "--max_tokens=5", "hi"}),
              HasSubstr("did you mean --max-tokens?"));
  EXPECT_THAT(refusal({"chat", "--temperatur", "0"}), HasSubstr("did you mean --temperature?"));
  EXPECT_THAT(refusal({"chunk", "list", "--jsn"}),
              HasSubstr("--jsn is not an option of cascadectl chunk list; did you mean --json?"));
  EXPECT_THAT(refusal({"--endpont", "ipc:///x", "status"}), HasSubstr("did you mean --endpoint?"));
  EXPECT_THAT(refusal({"--jsn"}), HasSubstr("did you mean --json?"));
  // The option comes before the command to which it belongs.
  EXPECT_THAT(refusal({"--temperature", "0", "generate", "hi"}),
              HasSubstr("--temperature must come after cascadectl generate, not before it"));
  EXPECT_THAT(refusal({"status", "--temperature", "0"}),
              HasSubstr("--temperature is not an option of cascadectl status; it is one of "
                        "cascadectl generate: give it after that command"));
  const std::string none = refusal({"status", "--bogus"});
  EXPECT_THAT(none, HasSubstr("--bogus is not an option of cascadectl status\n"));
  EXPECT_THAT(
      refusal({"genrate", "hi"}),
      HasSubstr("\"genrate\" is not a command here; did you mean generate? It must be one of"));
  EXPECT_THAT(refusal({"generate", "What", "is", "this?"}),
              HasSubstr("\"is\" is more than cascadectl generate takes; put a text of several "
                        "words in quotes"));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(exit_code({"generate", "--max-token", "5", "hi", "--json"}), kExitUsage);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("did you mean --max-tokens?"));
}

TEST(Options, say_what_a_number_may_be) {
  using ::testing::HasSubstr;
  for (const char* value : {"99999999999", "99999999999999999999", "1.5", "many", "", "5x"}) {
    EXPECT_THAT(refusal({"generate", "--max-tokens", value, "hi"}),
                HasSubstr("--max-tokens: must be a whole number from 0 to 2147483647, got " +
                          (*value == 0 ? std::string("nothing") : value)));
  }
  EXPECT_THAT(refusal({"generate", "--top-k", "99999999999", "hi"}),
              HasSubstr("--top-k: must be a whole number from 0 to 2097152, got 99999999999"));
  EXPECT_THAT(refusal({"generate", "--timeout-ms", "9223372036854775808", "hi"}),
              HasSubstr("--timeout-ms: must be a whole number from 0 to 9223372036854775807"));
  EXPECT_THAT(refusal({"generate", "--temperature", "warm", "hi"}),
              HasSubstr("--temperature: must be a number such as 0.7, got warm"));
  EXPECT_THAT(refusal({"chunk", "put", "x", "--priority", "4294967296"}),
              HasSubstr("--priority: must be a whole number from 0 to 100, got 4294967296"));
  EXPECT_THAT(refusal({"chunk", "put", "--token-ids", "1,99999999999"}),
              HasSubstr("--token-ids: must be a whole number from 0 to 2147483647"));
  EXPECT_EQ(
      options_of({"generate", "--temperature", "1e-1", "x"}).generate.params.sampling.temperature,
      0.1);
}

TEST(Options, an_empty_prompt_is_refused_with_what_to_write) {
  for (const auto& arguments : std::vector<std::vector<const char*>>{
           {"generate", ""}, {"generate", "--query", ""}, {"generate", "--raw", ""}}) {
    const Status checked = check_options(options_of(arguments));
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().to_string(),
              "invalid_argument: PROMPT: is empty: write the question, or leave it out to read it "
              "from standard input");
  }
  EXPECT_TRUE(check_options(options_of({"generate"})).ok());
}

TEST(Options, help_tells_the_exit_codes) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(exit_code({"--help"}), kExitOk);
  const std::string help = ::testing::internal::GetCapturedStdout();
  for (const char* code :
       {"0 done", "1 the request", "2 the command", "3 no daemon", "4 generate answered"}) {
    EXPECT_THAT(help, ::testing::HasSubstr(code));
  }
}

TEST(Options, of_a_generation_are_checked_without_a_daemon) {
  for (const auto& [option, value] :
       std::vector<std::pair<const char*, const char*>>{{"--top-p", "7"},
                                                        {"--top-k", "-1"},
                                                        {"--temperature", "nan"},
                                                        {"--temperature", "101"},
                                                        {"--timeout-ms", "-5"},
                                                        {"--max-tokens", "-1"},
                                                        {"--presence-penalty", "2.1"},
                                                        {"--frequency-penalty", "nan"},
                                                        {"--logit-bias", "1=101"},
                                                        {"--logit-bias", "1=nan"},
                                                        {"--logit-bias", "-1=0"},
                                                        {"--stop", ""}}) {
    for (const char* command : {"generate", "chat"}) {
      const Status checked = check_options(options_of({command, option, value}));
      ASSERT_FALSE(checked.ok()) << command << " " << option << " " << value;
      EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
    }
  }
  EXPECT_TRUE(check_options(options_of({"chat", "--top-p", "1"})).ok());
  const Status alone = check_options(options_of({"generate", "--top-logprobs", "3"}));
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().field, "top_logprobs");
  EXPECT_TRUE(check_options(options_of({"status"})).ok());
}

TEST(Options, of_the_form_of_an_answer) {
  const auto object = options_of({"generate", "--json-object", "x"}).generate.params.grammar;
  ASSERT_TRUE(object.has_value());
  EXPECT_EQ(object->kind, GrammarKind::kJsonObject);
  EXPECT_EQ(object->schema, "");
  const std::string file = ::testing::TempDir() + "/schema.json";
  std::ofstream(file) << R"({"type": "string"})";
  for (const auto& [option, kind] : {std::pair("--json-schema", GrammarKind::kJsonSchema),
                                     std::pair("--grammar", GrammarKind::kParts)}) {
    const auto read = options_of({"generate", option, file.c_str(), "x"}).generate.params.grammar;
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->kind, kind);
    EXPECT_EQ(read->schema, R"({"type": "string"})");
    EXPECT_EQ(exit_code({"generate", option, "/none", "x"}), kExitUsage);
    EXPECT_EQ(exit_code({"generate", option, file.c_str(), "--json-object", "x"}), kExitUsage);
  }
  std::ofstream(file) << "\xFF";
  EXPECT_EQ(exit_code({"generate", "--json-schema", file.c_str(), "x"}), kExitUsage);
}

TEST(Options, exit_with_usage_for_a_wrong_command_line) {
  EXPECT_EQ(exit_code({}), kExitUsage);
  EXPECT_EQ(exit_code({"frobnicate"}), kExitUsage);
  EXPECT_EQ(exit_code({"chunk"}), kExitUsage);
  EXPECT_EQ(exit_code({"chunk", "show"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "--top-k", "many", "x"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "x", "--query", "y"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "x", "--batch", "f"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "--query", "x", "--batch", "f"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "--stream", "--batch", "f"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "--think-policy", "some", "x"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "--heal", "--no-heal", "x"}), kExitUsage);
  EXPECT_EQ(exit_code({"chunk", "list", "--type", "noise"}), kExitUsage);
  EXPECT_EQ(exit_code({"generate", "--think", "--no-think", "x"}), kExitUsage);
  EXPECT_EQ(exit_code({"--help"}), kExitOk);
}

}  // namespace
}  // namespace cascade::ctl
