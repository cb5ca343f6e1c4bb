// cascadectl against cascaded, and how both end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/json.h"
#include "tests/clients/program.h"
#include "tests/shared_dir.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using ctl::testing::Program;
using testing::DaemonProcess;
using ::testing::HasSubstr;
using testing::run_program;
using testing::ScratchDir;

// Runs a conversation whose later turns are answered by a second daemon; returns the chat's error
// output.
std::string error_output_of_two_daemons(const std::filesystem::path& second_state) {
  const ScratchDir scratch;
  const auto run_dir = scratch.path() / "run";
  const std::string endpoint = "ipc://" + (run_dir / "cascaded.sock").string();
  Program chat({"chat", "--temperature", "0", "--endpoint", endpoint}, scratch.path(),
               Program::On::kPipes);
  {
    DaemonProcess first(run_dir);
    EXPECT_TRUE(first.serving()) << first.log();
    chat.start();
    chat.type("/system You are a helpful assistant.\nWhat is the capital of France?\n");
    chat.expect("The capital of France is Paris.\n");
    EXPECT_EQ(first.stop(SIGTERM), 0) << first.log();
  }
  const DaemonProcess second(run_dir, {}, scratch.path() / second_state);
  EXPECT_TRUE(second.serving()) << second.log();
  chat.type("What city did we just discuss?\n");
  chat.expect("We just discussed Paris.\n");
  // The second daemon has inherited the other end of the input, so closing it here would not end
  // the input.
  chat.type("What was my first question?\n/bye\n");
  EXPECT_EQ(chat.finish(), 0);
  EXPECT_THAT(chat.out(), HasSubstr("capital of France"));
  return chat.err();
}

TEST(ChatSystem, goes_on_when_the_daemon_is_started_again) {
  EXPECT_EQ(error_output_of_two_daemons("state"), "");
}

TEST(ChatSystem, goes_on_with_a_daemon_that_knows_nothing_of_it) {
  EXPECT_EQ(error_output_of_two_daemons("other_state"),
            "The chunks of the earlier turns do not exist any more (deleted, expired, or in "
            "another state directory): the turns are sent as text.\n");
}

TEST(ChatSystem, a_deleted_output_is_sent_as_text_too) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  Program chat({"chat", "--temperature", "0", "--endpoint", daemon.endpoint()}, scratch.path(),
               Program::On::kPipes);
  chat.start();
  chat.type("What is the capital of France?\n");
  chat.expect("The capital of France is Paris.\n");
  const auto list = run_program("cascadectl", {"chunk", "list", "--type", "output", "--json",
                                               "--endpoint", daemon.endpoint()});
  const std::string id = Json::parse(list.out)["chunks"][0]["id"];
  EXPECT_EQ(
      run_program("cascadectl", {"chunk", "delete", id, "--endpoint", daemon.endpoint()}).exit_code,
      0);
  chat.type("What city did we just discuss?\n");
  chat.expect("We just discussed Paris.\n");
  chat.close_input();
  EXPECT_EQ(chat.finish(), 0);
}

TEST(ChatSystem, exit_codes_are_those_of_the_manual) {
  const ScratchDir scratch;
  const std::string nowhere = "ipc://" + (scratch.path() / "none.sock").string();
  for (const char* command : {"status", "chat", "generate"}) {
    EXPECT_EQ(run_program("cascadectl", {command, "--endpoint", nowhere}, "x").exit_code, 3);
    EXPECT_EQ(run_program("cascadectl", {command, "--endpoint", "foo"}, "x").exit_code, 2);
  }
  DaemonProcess daemon(scratch.path() / "run");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  const auto ctl = [&](std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.end(), {"--endpoint", daemon.endpoint()});
    return run_program("cascadectl", arguments, input).exit_code;
  };
  EXPECT_EQ(ctl({"status"}), 0);
  EXPECT_EQ(ctl({"chunk", "show", "output_00000000"}), 1);
  EXPECT_EQ(ctl({"chunk", "show", ""}), 2);
  EXPECT_EQ(ctl({"chat"}, "/use-output 7\n"), 1);
}

TEST(DaemonEnd, takes_its_socket_along_and_leaves_the_lock) {
  const ScratchDir scratch;
  const auto run_dir = scratch.path() / "run";
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    DaemonProcess daemon(run_dir);
    ASSERT_TRUE(daemon.serving()) << daemon.log();
    EXPECT_TRUE(std::filesystem::exists(run_dir / "cascaded.sock"));
    EXPECT_EQ(daemon.stop(signal), 0) << daemon.log();
    EXPECT_FALSE(std::filesystem::exists(run_dir / "cascaded.sock")) << signal;
    EXPECT_TRUE(std::filesystem::exists(run_dir / "cascaded.lock"));
  }
}

TEST(DaemonEnd, of_a_wrong_command_line_is_2_and_of_a_wrong_model_1) {
  const ScratchDir scratch;
  const std::string model = testing::demo_model_dir().string();
  const std::string run_dir = scratch.path() / "run";
  const auto daemon = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--threads", "1", "--state-dir", (scratch.path() / "state").string()});
    return run_program("cascaded", arguments);
  };
  const auto small = daemon({"--model", model, "--run-dir", run_dir, "--kv-memory", "1K"});
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_THAT(small.err, HasSubstr("--kv-memory: must be at least 139264 bytes"));
  EXPECT_THAT(small.err, HasSubstr("got 1024 bytes"));
  const auto large = daemon({"--model", model, "--run-dir", run_dir, "--kv-memory", "8000000000G"});
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.err, HasSubstr("--kv-memory: must be at most "));
  EXPECT_THAT(large.err, HasSubstr("got \"8000000000G\""));
  EXPECT_EQ(daemon({"--model", "", "--run-dir", run_dir}).exit_code, 2);
  EXPECT_EQ(daemon({"--model", model, "--run-dir", ""}).exit_code, 2);
  EXPECT_EQ(daemon({"--model", model, "--run-dir", run_dir, "--endpoint", "foo"}).exit_code, 2);
  const auto missing = daemon({"--model", run_dir + "/none", "--run-dir", run_dir});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("/none: is neither a model folder nor a GGUF file"));
}

}  // namespace
}  // namespace cascade
