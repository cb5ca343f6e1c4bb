// A named conversation, held with cascadectl, that goes on after a kill of the daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/json.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using testing::DaemonProcess;
using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using testing::ScratchDir;
using ::testing::StartsWith;

class SessionSystem : public ::testing::Test {
 protected:
  void start() {
    daemon_ =
        std::make_unique<DaemonProcess>(scratch_.path() / "run", "", scratch_.path() / "state");
    ASSERT_TRUE(daemon_->serving()) << daemon_->log();
  }
  void kill_and_start() {
    EXPECT_EQ(daemon_->stop(SIGKILL), 128 + SIGKILL);
    start();
  }
  ProgramResult ctl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--endpoint", daemon_->endpoint()});
    return run_program("cascadectl", arguments);
  }
  // The output with --json of a command that must succeed.
  Json json_of(std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    const ProgramResult result = ctl(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    const Json json = Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
    return json.is_object() ? json : Json::object();
  }
  // The next turn of the session "trip".
  Json say(const std::string& question, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        "generate",      question, "--session", "trip", "--system", "You are a helpful assistant.",
        "--temperature", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Json answer = json_of(arguments);
    EXPECT_EQ(answer.value("session", ""), "trip");
    return answer;
  }

  const ScratchDir scratch_;
  std::unique_ptr<DaemonProcess> daemon_;
};

TEST_F(SessionSystem, a_session_goes_on_after_a_kill_and_is_deleted_with_its_outputs) {
  start();
  const Json first = say("What is the capital of France?");
  EXPECT_EQ(first["text"], "The capital of France is Paris.");
  EXPECT_EQ(say("What city did we just discuss?")["text"], "We just discussed Paris.");

  kill_and_start();
  const Json list = json_of({"session", "list"})["sessions"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["id"], "trip");
  EXPECT_EQ(list[0]["turns"], 2);
  const ProgramResult shown = ctl({"session", "show", "trip"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out,
              HasSubstr("1  What is the capital of France?  The capital of France is Paris.  " +
                        std::string(first["output_chunk_id"])));
  EXPECT_THAT(shown.out, HasSubstr("2  What city did we just discuss?  We just discussed Paris. "));

  const Json third = say("What was my first question?");
  EXPECT_THAT(std::string(third["text"]), HasSubstr("capital of France"));
  EXPECT_EQ(json_of({"session", "show", "trip"})["session"]["turns"], 3);
  EXPECT_EQ(json_of({"chunk", "list", "--type", "output"})["chunks"].size(), 3u);

  const std::string deleted = ctl({"session", "delete", "trip", "--outputs"}).out;
  EXPECT_THAT(deleted, StartsWith("deleted trip\n"));
  EXPECT_THAT(deleted, HasSubstr("\n" + std::string(third["output_chunk_id"]) + " is gone\n"));
  EXPECT_EQ(json_of({"chunk", "list", "--type", "output"})["chunks"].size(), 0u);
  kill_and_start();
  EXPECT_EQ(json_of({"session", "list"})["sessions"].size(), 0u);
  EXPECT_EQ(ctl({"session", "list"}).out, "");
  const ProgramResult none = ctl({"session", "show", "trip"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.err, "error: not_found: id: there is no session \"trip\"\n");
}

TEST_F(SessionSystem, a_turn_whose_output_is_deleted_is_shown_as_gone_and_told) {
  start();
  const std::string first = say("What is the capital of France?")["output_chunk_id"];
  const ProgramResult kept = ctl({"chunk", "delete", first});
  EXPECT_EQ(kept.exit_code, 1);
  EXPECT_THAT(kept.err, HasSubstr("held by a turn of the session \"trip\""));
  EXPECT_EQ(ctl({"chunk", "delete", first, "--all"}).out,
            "deleted " + first + "; ended: a turn of session \"trip\"\n");
  EXPECT_EQ(json_of({"session", "show", "trip"})["turns"][0]["gone"], true);
  EXPECT_THAT(ctl({"session", "show", "trip"}).out, HasSubstr("1  gone      gone    " + first));
  const Json alone = json_of({"generate", "What is 2 plus 2?", "--system",
                              "You are a helpful assistant.", "--temperature", "0"});
  const std::vector<std::string> next = {"generate",      "What is 2 plus 2?",
                                         "--session",     "trip",
                                         "--system",      "You are a helpful assistant.",
                                         "--temperature", "0"};
  const ProgramResult refused = ctl(next);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("turn 1 of the session \"trip\" is gone"));
  std::vector<std::string> anyway = next;
  anyway.insert(anyway.end(), {"--on-missing", "skip"});
  EXPECT_THAT(ctl(anyway).err, HasSubstr("warning: answered without " + first));
  anyway[1] = "And 3 plus 3?";
  const Json answer = json_of(anyway);
  EXPECT_EQ(answer["missing"][0]["id"], first);
  EXPECT_GT(answer["usage"]["prompt_tokens"], alone["usage"]["prompt_tokens"]);
}

TEST_F(SessionSystem, a_chunk_that_is_gone_is_left_out_if_asked_to) {
  start();
  const std::string first = say("What is the capital of France?")["output_chunk_id"];
  ASSERT_EQ(ctl({"chunk", "delete", first, "--all"}).exit_code, 0);
  for (const char* option : {"--chunk", "--previous-output"}) {
    // A sampled answer may go on to its limit, which is not success.
    std::vector<std::string> line = {
        "generate", "What is the capital of Italy?", option, first, "--temperature", "0"};
    const ProgramResult refused = ctl(line);
    EXPECT_EQ(refused.exit_code, 1) << option;
    EXPECT_THAT(refused.err, HasSubstr("not_found")) << option;
    line.insert(line.end(), {"--on-missing", "skip"});
    EXPECT_THAT(ctl(line).err, HasSubstr("warning: answered without " + first)) << option;
    EXPECT_EQ(json_of(line)["missing"][0]["id"], first) << option;
  }
}

TEST_F(SessionSystem, a_policy_survives_a_kill_and_gives_new_chunks_their_time) {
  start();
  EXPECT_THAT(ctl({"policy", "set", "output", "--ttl", "2h"}).out,
              HasSubstr("OUTPUT         after 2h\n"));
  kill_and_start();
  const Json policies = json_of({"policy", "list"})["policies"];
  ASSERT_EQ(policies.size(), 1u);
  EXPECT_EQ(policies[0]["type"], "OUTPUT");
  EXPECT_EQ(policies[0]["ttl_ms"], 7'200'000);
  const auto lifetime_us = [&](const Json& answer) {
    const Json chunk = json_of({"chunk", "show", answer["output_chunk_id"]});
    return chunk["expires_us"] == 0 ? 0
                                    : int64_t{chunk["expires_us"]} - int64_t{chunk["created_us"]};
  };
  // The answer may take any time below this.
  constexpr double kMinutesUs = 600e6;
  EXPECT_NEAR(static_cast<double>(lifetime_us(say("What is the capital of France?"))), 7.2e9,
              kMinutesUs);
  const Json own = say("What is the capital of Italy?", {"--ttl", "1h"});
  EXPECT_NEAR(static_cast<double>(lifetime_us(own)), 3.6e9, kMinutesUs);
  EXPECT_EQ(json_of({"policy", "set", "output", "--ttl", "never"})["policies"].size(), 0u);
  kill_and_start();
  EXPECT_EQ(json_of({"policy", "list"})["policies"].size(), 0u);
  EXPECT_EQ(lifetime_us(say("What is the capital of Spain?")), 0);
}

TEST_F(SessionSystem, what_is_no_name_or_no_policy_is_a_wrong_command_line) {
  start();
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"generate", "x", "--session", "a\nb"},
                                             {"generate", "x", "--session", "trip", "--raw"},
                                             {"session", "show", "\x1b[2J"},
                                             {"session", "delete", std::string(129, 'n')},
                                             {"session", "list", "--limit", "0"},
                                             {"policy", "set", "answer", "--ttl", "1h"},
                                             {"policy", "set", "output", "--ttl", "soon"}}) {
    const ProgramResult result = ctl(wrong);
    EXPECT_EQ(result.exit_code, 2) << wrong[1];
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err, "");
  }
  EXPECT_EQ(ctl({"session", "list"}).out, "");
}

}  // namespace
}  // namespace cascade
