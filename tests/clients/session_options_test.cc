// The command line of the session and policy commands, and of generate --session.
#include "clients/ctl/session_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/ctl/run.h"
#include "tests/clients/command_lines.h"

namespace cascade::ctl {
namespace {

using testing::accepted;
using testing::Arguments;
using ::testing::HasSubstr;
using testing::parse_quietly;
using testing::Parsed;

// The text that is printed for a command line that is refused as a usage error.
std::string refused(const Arguments& arguments) {
  const Parsed parsed = parse_quietly(arguments);
  const int* code = std::get_if<int>(&parsed.result);
  EXPECT_TRUE(code != nullptr && *code == kExitUsage) << arguments[1];
  return parsed.err;
}

TEST(SessionOptions, list_takes_a_limit) {
  const Options options = accepted({"session", "list", "--limit", "3", "--json"});
  EXPECT_EQ(options.command, Options::Command::kSessionList);
  EXPECT_EQ(options.session.limit, 3);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(accepted({"session", "list"}).session.limit, 1000);
  for (const char* wrong : {"0", "1001", "x"}) {
    EXPECT_THAT(refused({"session", "list", "--limit", wrong}), HasSubstr("--limit"));
  }
}

TEST(SessionOptions, show_and_delete_take_a_name) {
  const Options show = accepted({"session", "show", "trip to Rome"});
  EXPECT_EQ(show.command, Options::Command::kSessionShow);
  EXPECT_EQ(show.session.name, "trip to Rome");
  const Options remove = accepted({"session", "delete", "trip", "--outputs"});
  EXPECT_EQ(remove.command, Options::Command::kSessionDelete);
  EXPECT_EQ(remove.session.name, "trip");
  EXPECT_TRUE(remove.session.outputs);
  EXPECT_FALSE(accepted({"session", "delete", "trip"}).session.outputs);
  EXPECT_THAT(refused({"session", "show"}), HasSubstr("NAME"));
  EXPECT_THAT(refused({"session", "show", "\xFF"}), HasSubstr("not UTF-8"));
  EXPECT_THAT(refused({"session", "delete", "a", "b"}), HasSubstr("b"));
  EXPECT_THAT(refused({"session"}), HasSubstr("list, show, delete"));
  EXPECT_THAT(refused({"session", "rename"}), HasSubstr("\"rename\" is not a command here"));
}

TEST(SessionOptions, a_name_that_no_session_has_is_refused_before_anything_is_sent) {
  const std::string long_name(129, 'n');
  for (const char* command : {"show", "delete"}) {
    for (const char* name : {"", "a\nb", long_name.c_str()}) {
      const Parsed parsed = parse_quietly({"session", command, name});
      ASSERT_TRUE(std::holds_alternative<Options>(parsed.result)) << parsed.err;
      const Status checked = check_options(std::get<Options>(parsed.result));
      ASSERT_FALSE(checked.ok()) << name;
      EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
    }
  }
}

TEST(SessionOptions, generate_names_the_session_that_it_is_a_turn_of) {
  const auto session = [](const Arguments& arguments) {
    return accepted(arguments).generate.params.session;
  };
  EXPECT_EQ(session({"generate", "x", "--session", "trip"}), "trip");
  EXPECT_EQ(session({"generate", "x", "--system", "s", "--context", "c", "--session", "trip"}),
            "trip");
  EXPECT_EQ(session({"generate", "x"}), "");
  EXPECT_THAT(refused({"generate", "x", "--session", ""}), HasSubstr("must not be empty"));
  EXPECT_THAT(refused({"generate", "x", "--session", "\xFF"}), HasSubstr("not UTF-8"));
  EXPECT_THAT(refused({"generate", "x", "--session", "trip", "--raw"}), HasSubstr("--raw"));
  EXPECT_THAT(refused({"generate", "--batch", "-", "--session", "trip"}), HasSubstr("--session"));
  const Parsed control = parse_quietly({"generate", "x", "--session", "a\x1b[2Jb"});
  ASSERT_TRUE(std::holds_alternative<Options>(control.result));
  EXPECT_EQ(check_options(std::get<Options>(control.result)).error().field, "session");
}

TEST(SessionOptions, what_is_said_of_an_output_needs_one_that_is_kept) {
  const wire::GenerateRequest params = accepted({"generate", "x", "--session", "trip", "--name",
                                                 "n", "--pin", "--ttl", "1d", "--priority", "9"})
                                           .generate.params;
  EXPECT_EQ(params.output_name, "n");
  EXPECT_EQ(params.output_pinned, true);
  EXPECT_EQ(params.output_ttl_ms, 86'400'000);
  EXPECT_EQ(params.output_priority, 9);
  EXPECT_THAT(refused({"generate", "x", "--name", "n"}),
              HasSubstr("--name requires --retain or --session"));
  EXPECT_THAT(refused({"generate", "x", "--priority", "9"}),
              HasSubstr("--priority requires --retain or --session"));
}

TEST(PolicyOptions, set_takes_a_type_and_a_time) {
  const auto policy = [](const Arguments& arguments) {
    const Options options = accepted(arguments);
    EXPECT_EQ(options.command, Options::Command::kPolicySet);
    return options.policy;
  };
  const wire::PolicySet output = policy({"policy", "set", "output", "--ttl", "7d"});
  EXPECT_EQ(output.type, ChunkType::kOutput);
  EXPECT_EQ(output.ttl_ms, 604'800'000);
  EXPECT_EQ(policy({"policy", "set", "SYSTEM_PROMPT", "--ttl", "250ms"}).type,
            ChunkType::kSystemPrompt);
  for (const char* none : {"never", "0", "0s"}) {
    EXPECT_EQ(policy({"policy", "set", "query", "--ttl", none}).ttl_ms, 0) << none;
  }
  EXPECT_EQ(accepted({"policy", "list"}).command, Options::Command::kPolicyList);
}

TEST(PolicyOptions, what_is_no_type_or_no_time_is_refused) {
  EXPECT_THAT(refused({"policy", "set", "answer", "--ttl", "7d"}), HasSubstr("OUTPUT"));
  EXPECT_THAT(refused({"policy", "set", "output"}), HasSubstr("--ttl"));
  EXPECT_THAT(refused({"policy", "set", "--ttl", "7d"}), HasSubstr("TYPE"));
  for (const char* wrong : {"5", "-5s", "36526d", "Never", ""}) {
    EXPECT_THAT(refused({"policy", "set", "output", "--ttl", wrong}), HasSubstr("or never"))
        << wrong;
  }
  EXPECT_THAT(refused({"policy"}), HasSubstr("list, set"));
}

}  // namespace
}  // namespace cascade::ctl
